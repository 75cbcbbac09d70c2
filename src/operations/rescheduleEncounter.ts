import type { Operation } from './operation.js';
import * as rescheduling from '../domain/encounters/update.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/reschedule: changes or removes the schedule while the encounter is in the queue. */
export const rescheduleEncounter: Operation<'rescheduleEncounter'> = (input, context) =>
  encounterChange(context, input, rescheduling.rescheduleEncounter);
