import type { Operation } from '../contract.js';
import { lockEncounter } from '../domain/encounterTransitions.js';
import { once } from '../domain/idempotency.js';
import { submitReview as submit } from '../domain/reviews.js';
import { encounterView } from '../views/encounterView.js';

/** POST /encounters/{encounter_id}/review: decides every item that waits, and makes the order. */
export const submitReview: Operation<'submitReview'> = ({ path, body }, context) =>
  once(
    context,
    async (transaction) => {
      const encounter = await submit(transaction, BigInt(path.encounter_id), body);
      return { status: 200, body: encounterView(encounter, context.now()) };
    },
    (transaction) => lockEncounter(transaction, BigInt(path.encounter_id)),
  );
