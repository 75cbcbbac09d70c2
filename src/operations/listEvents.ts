import type { Operation } from './operation.js';
import { readEvents } from '../domain/webhooks/feed.js';
import { eventView } from '../views/eventView.js';

/** GET /events: the events that the caller may see, in the order of their commit. */
export const listEvents: Operation<'listEvents'> = async ({ query }, context) => {
  const { rows, nextCursor, hasMore } = await readEvents(context, query);
  return { status: 200, body: { data: rows.map(eventView), next_cursor: nextCursor, has_more: hasMore } };
};
