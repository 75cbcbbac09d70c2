import type { Operation } from '../contract.js';

export const getOrder: Operation<'getOrder'> = () => Promise.reject(new Error('not built yet'));
