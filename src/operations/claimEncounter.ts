import type { Operation } from '../contract.js';
import { lockEncounter } from '../domain/encounterTransitions.js';
import { once } from '../domain/idempotency.js';
import { claimEncounter as claim } from '../domain/reviews.js';
import { encounterView } from '../views/encounterView.js';

/** POST /encounters/{encounter_id}/claim: one provider at a time, until its lease ends. */
export const claimEncounter: Operation<'claimEncounter'> = ({ path, body }, context) =>
  once(
    context,
    async (transaction) => {
      const encounter = await claim(transaction, BigInt(path.encounter_id), body);
      return { status: 200, body: encounterView(encounter, context.now()) };
    },
    (transaction) => lockEncounter(transaction, BigInt(path.encounter_id)),
  );
