import type { Operation } from './operation.js';
import * as reviews from '../domain/reviews/review.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/review: decides every pending item, and creates the order if an item is approved. */
export const submitReview: Operation<'submitReview'> = (input, context) =>
  encounterChange(context, input, reviews.submitReview);
