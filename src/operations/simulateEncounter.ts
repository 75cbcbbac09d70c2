import type { Operation } from '../contract.js';

export const simulateEncounter: Operation<'simulateEncounter'> = () => Promise.reject(new Error('not built yet'));
