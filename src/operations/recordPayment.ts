import type { Operation } from '../contract.js';

export const recordPayment: Operation<'recordPayment'> = () => Promise.reject(new Error('not built yet'));
