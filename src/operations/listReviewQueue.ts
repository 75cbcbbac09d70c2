import type { Operation } from '../contract.js';

export const listReviewQueue: Operation<'listReviewQueue'> = () => Promise.reject(new Error('not built yet'));
