import type { Schemas } from '../contract.js';
import type { FeedEvent } from '../domain/webhooks/feed.js';

export function eventView({ id, type, timestamp, data }: FeedEvent): Schemas['Event'] {
  return { id, type, timestamp: timestamp.toISOString(), data };
}
