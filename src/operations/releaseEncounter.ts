import type { Operation } from '../contract.js';
import { once } from '../domain/idempotency.js';
import { releaseEncounter as release } from '../domain/reviews.js';
import { encounterView } from '../views/encounterView.js';

/** POST /encounters/{encounter_id}/release: back into the queue. */
export const releaseEncounter: Operation<'releaseEncounter'> = ({ path, body }, context) =>
  once(context, async (transaction) => {
    const encounter = await release(transaction, BigInt(path.encounter_id), body);
    return { status: 200, body: encounterView(encounter, context.now()) };
  });
