import type { Operation } from '../contract.js';

export const listEvents: Operation<'listEvents'> = () => Promise.reject(new Error('not built yet'));
