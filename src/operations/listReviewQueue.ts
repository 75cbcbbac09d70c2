import type { Operation } from './operation.js';
import * as reviewQueue from '../domain/reviews/queue.js';
import { withinBytes } from '../domain/transactions/listCursor.js';
import { queuedEncounterView } from '../views/encounterView.js';

/** GET /review-queue: encounters that wait for a provider, in the order of R-47. */
export const listReviewQueue: Operation<'listReviewQueue'> = async ({ query }, context) => {
  const { rows, hasMore } = await reviewQueue.listReviewQueue(context, query);
  const now = context.now();
  const data = withinBytes(rows.map((encounter) => queuedEncounterView(encounter, now)));
  return { status: 200, body: { data, has_more: hasMore || data.length < rows.length } };
};
