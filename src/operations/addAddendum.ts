import type { Operation } from './operation.js';
import * as addenda from '../domain/reviews/addenda.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/addenda: a note to a review that is over. */
export const addAddendum: Operation<'addAddendum'> = ({ path, body }, context) =>
  encounterChange(context, path.encounter_id, (transaction, encounterNo) =>
    addenda.addAddendum(transaction, encounterNo, body),
  );
