import type { Operation } from './operation.js';
import * as reviews from '../domain/reviews/review.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/claim: one provider at a time, until its lease ends. */
export const claimEncounter: Operation<'claimEncounter'> = ({ path, body }, context) =>
  encounterChange(context, path.encounter_id, (transaction, encounterNo) =>
    reviews.claimEncounter(transaction, encounterNo, body),
  );
