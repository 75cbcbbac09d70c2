import type { Operation } from './operation.js';
import * as encounters from '../domain/encounters/creation.js';
import { encounterView } from '../views/encounterView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /encounters: responds at once; "synchronous" refers to the visit, not to this request. */
export const createEncounter: Operation<'createEncounter'> = async ({ body }, context) => {
  encounters.checkEncounterRequest(body);
  return withIdempotency(context, async (transaction) => {
    const encounter = await encounters.createEncounter(transaction, body);
    const headers = { Location: `/encounters/${encounter.encounterNo}` };
    return { status: 201, headers, body: encounterView(encounter, transaction.now()) };
  });
};
