import type { Operation } from './operation.js';
import { reviewOptions } from '../domain/encounters/references.js';

/** GET /review-options: the types of review that a new encounter may have. */
export const getReviewOptions: Operation<'getReviewOptions'> = async ({ query }, context) => ({
  status: 200,
  body: await reviewOptions(context, query),
});
