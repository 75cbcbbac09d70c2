import type { Operation } from './operation.js';
import { checkEncounterRequest } from '../domain/encounters/draft.js';
import * as encounters from '../domain/encounters/encounters.js';
import { encounterView } from '../views/encounterView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /encounters: responds at once; "synchronous" refers to the visit, not to this request. */
export const createEncounter: Operation<'createEncounter'> = async ({ body }, context) => {
  checkEncounterRequest(body);
  return withIdempotency(context, async (transaction) => {
    const encounter = await encounters.createEncounter(transaction, body);
    const headers = { Location: `/encounters/${encounter.encounterNo}` };
    return { status: 201, headers, body: encounterView(encounter, transaction.now()) };
  });
};
