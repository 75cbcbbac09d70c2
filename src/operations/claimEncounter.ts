import type { Operation } from '../contract.js';

export const claimEncounter: Operation<'claimEncounter'> = () => Promise.reject(new Error('not built yet'));
