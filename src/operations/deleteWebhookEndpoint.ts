import type { Operation } from './operation.js';
import { deleteEndpoint } from '../domain/webhooks/endpoints.js';
import { withIdempotency } from './withIdempotency.js';

/** DELETE /webhook-endpoints/{endpoint_id}: also deletes its deliveries. */
export const deleteWebhookEndpoint: Operation<'deleteWebhookEndpoint'> = ({ path }, context) =>
  withIdempotency(context, async (transaction) => {
    await deleteEndpoint(transaction, path.endpoint_id);
    return { status: 204, body: null };
  });
