import type { Operation } from './operation.js';
import * as information from '../domain/reviews/information.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/information: adds information; an answer returns the encounter to the queue. */
export const provideInformation: Operation<'provideInformation'> = (input, context) =>
  encounterChange(context, input, information.provideInformation);
