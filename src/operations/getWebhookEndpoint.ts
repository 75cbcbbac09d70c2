import type { Operation } from './operation.js';
import { getEndpoint } from '../domain/webhooks/endpoints.js';
import { webhookEndpointView } from '../views/webhookView.js';

/** GET /webhook-endpoints/{endpoint_id}: with the times of its latest success and failure. */
export const getWebhookEndpoint: Operation<'getWebhookEndpoint'> = async ({ path }, context) => {
  const endpoint = await getEndpoint(context, path.endpoint_id);
  return { status: 200, body: webhookEndpointView(endpoint) };
};
