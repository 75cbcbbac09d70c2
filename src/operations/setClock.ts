import type { Operation } from '../contract.js';

export const setClock: Operation<'setClock'> = () => Promise.reject(new Error('not built yet'));
