import type { Operation } from './operation.js';
import * as information from '../domain/reviews/information.js';
import { encounterChange } from './encounterChange.js';

/** POST /encounters/{encounter_id}/request-information: the claim ends, and the partner is asked. */
export const requestInformation: Operation<'requestInformation'> = (input, context) =>
  encounterChange(context, input, information.requestInformation);
