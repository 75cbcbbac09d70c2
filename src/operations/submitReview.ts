import type { Operation } from '../contract.js';

export const submitReview: Operation<'submitReview'> = () => Promise.reject(new Error('not built yet'));
