import type { Operation } from './operation.js';
import { replayEvents } from '../domain/webhooks/deliveries.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /webhook-endpoints/{endpoint_id}/replay: sends the events of a period, even delivered ones. */
export const replayWebhookEvents: Operation<'replayWebhookEvents'> = ({ path, body }, context) =>
  withIdempotency(context, async (transaction) => {
    const deliveries = await replayEvents(transaction, path.endpoint_id, body);
    return { status: 202, body: { deliveries } };
  });
