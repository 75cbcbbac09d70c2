import type { Operation } from './operation.js';
import * as reviews from '../domain/reviews/review.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/claim: one provider at a time, until its lease ends. */
export const claimEncounter: Operation<'claimEncounter'> = (input, context) =>
  encounterChange(context, input, reviews.claimEncounter);
