import type { Operation } from './operation.js';
import * as reviewQueue from '../domain/reviews/queue.js';
import { queuedEncounterView } from '../views/encounterView.js';

/** GET /review-queue: encounters that wait for a provider, most urgent first. */
export const listReviewQueue: Operation<'listReviewQueue'> = async ({ query }, context) => {
  const { encounters, hasMore } = await reviewQueue.listReviewQueue(context, query);
  const now = context.now();
  return { status: 200, body: { data: encounters.map((each) => queuedEncounterView(each, now)), has_more: hasMore } };
};
