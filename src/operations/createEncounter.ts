import type { Operation } from '../contract.js';
import { createEncounter as create } from '../domain/encounters.js';
import { encounterView } from '../views/encounterView.js';

/** POST /encounters: always answers at once; "synchronous" is about the visit, not about this request. */
export const createEncounter: Operation<'createEncounter'> = async ({ body }, context) => {
  const encounter = await create(context, body);
  return {
    status: 201,
    headers: { Location: `/encounters/${encounter.encounterNo}` },
    body: encounterView(encounter),
  };
};
