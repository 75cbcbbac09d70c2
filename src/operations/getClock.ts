import type { Operation } from '../contract.js';

export const getClock: Operation<'getClock'> = () => Promise.reject(new Error('not built yet'));
