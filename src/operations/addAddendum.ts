import type { Operation } from './operation.js';
import * as addenda from '../domain/reviews/addenda.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/addenda: a note to a review that is over. */
export const addAddendum: Operation<'addAddendum'> = (input, context) =>
  encounterChange(context, input, addenda.addAddendum);
