import type { Operation } from './operation.js';
import { checkUrl, updateEndpoint } from '../domain/webhooks/endpoints.js';
import { webhookEndpointView } from '../views/webhookView.js';
import { withIdempotency } from './withIdempotency.js';

/** PATCH /webhook-endpoints/{endpoint_id}: changes an endpoint by a JSON merge patch. */
export const updateWebhookEndpoint: Operation<'updateWebhookEndpoint'> = async ({ path, body }, context) => {
  if (body.url !== undefined) checkUrl(context, body.url);
  return withIdempotency(context, async (transaction) => {
    const endpoint = await updateEndpoint(transaction, path.endpoint_id, body);
    return { status: 200, body: webhookEndpointView(endpoint) };
  });
};
