import type { Operation } from '../contract.js';

export const releaseEncounter: Operation<'releaseEncounter'> = () => Promise.reject(new Error('not built yet'));
