import type { Operation } from '../contract.js';

export const resetSandbox: Operation<'resetSandbox'> = () => Promise.reject(new Error('not built yet'));
