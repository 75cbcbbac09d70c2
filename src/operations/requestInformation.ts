import type { Operation } from './operation.js';
import * as information from '../domain/reviews/information.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/request-information: ends the claim and asks the partner. */
export const requestInformation: Operation<'requestInformation'> = (input, context) =>
  encounterChange(context, input, information.requestInformation);
