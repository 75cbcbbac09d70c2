import type { Operation } from './operation.js';
import * as reviews from '../domain/reviews/review.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/release: returns the encounter to the queue. */
export const releaseEncounter: Operation<'releaseEncounter'> = (input, context) =>
  encounterChange(context, input, reviews.releaseEncounter);
