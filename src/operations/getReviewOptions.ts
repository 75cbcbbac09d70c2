import type { Operation } from './operation.js';
import { reviewOptions } from '../domain/encounters/references.js';

/** GET /review-options: for each type of review, whether a new encounter may have it, and if not, the first reason. */
export const getReviewOptions: Operation<'getReviewOptions'> = async ({ query }, context) => ({
  status: 200,
  body: await reviewOptions(context, query),
});
