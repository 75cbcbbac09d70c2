import type { Operation } from './operation.js';
import * as addenda from '../domain/reviews/afterReview.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/addenda: adds a note to a finished review. */
export const addAddendum: Operation<'addAddendum'> = (input, context) =>
  encounterChange(context, input, addenda.addAddendum);
