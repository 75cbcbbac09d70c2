import type { Operation } from '../contract.js';
import { cancelEncounter as cancel, cancellingActor } from '../domain/cancellations.js';
import { lockEncounter } from '../domain/encounterTransitions.js';
import { once } from '../domain/idempotency.js';
import { encounterView } from '../views/encounterView.js';

/** POST /encounters/{encounter_id}/cancel: by the partner, or by the reviewing system. */
export const cancelEncounter: Operation<'cancelEncounter'> = ({ path, body }, context) =>
  once(
    context,
    async (transaction) => {
      const encounter = await cancel(transaction, BigInt(path.encounter_id), body, cancellingActor(context.caller));
      return { status: 200, body: encounterView(encounter, context.now()) };
    },
    (transaction) => lockEncounter(transaction, BigInt(path.encounter_id)),
  );
