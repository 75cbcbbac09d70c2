import type { Operation } from '../contract.js';

export const cancelEncounter: Operation<'cancelEncounter'> = () => Promise.reject(new Error('not built yet'));
