import type { Operation } from './operation.js';
import { pingEndpoint } from '../domain/webhooks/endpoints.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /webhook-endpoints/{endpoint_id}/ping: sends a test event to this endpoint, regardless of its types. */
export const pingWebhookEndpoint: Operation<'pingWebhookEndpoint'> = ({ path }, context) =>
  withIdempotency(context, async (transaction) => {
    const eventId = await pingEndpoint(transaction, path.endpoint_id);
    return { status: 202, body: { eventId } };
  });
