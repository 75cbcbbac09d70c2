import type { Operation } from '../contract.js';
import { checkEncounterRequest } from '../domain/encounterDraft.js';
import { createEncounter as create } from '../domain/encounters.js';
import { once } from '../domain/idempotency.js';
import { encounterView } from '../views/encounterView.js';

/** POST /encounters: always answers at once; "synchronous" is about the visit, not about this request. */
export const createEncounter: Operation<'createEncounter'> = async ({ body }, context) => {
  checkEncounterRequest(body);
  return once(context, async (transaction) => {
    const encounter = await create(transaction, body);
    return {
      status: 201,
      headers: { Location: `/encounters/${encounter.encounterNo}` },
      body: encounterView(encounter, transaction.now()),
    };
  });
};
