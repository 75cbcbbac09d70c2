import type { Schemas } from '../contract.js';
import type { FeedEvent } from '../domain/events/feed.js';

/** An event as the feed returns it. */
export function eventView({ id, type, timestamp, data }: FeedEvent): Schemas['Event'] {
  // A row's data is that of its type: `recordEvent` takes no other.
  return { id, type, timestamp: timestamp.toISOString(), data } as Schemas['Event'];
}
