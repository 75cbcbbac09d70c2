import type { Operation } from './operation.js';
import { getEndpoint } from '../domain/webhooks/endpoints.js';
import { webhookEndpointView } from '../views/webhookView.js';

/** GET /webhook-endpoints/{endpoint_id}: with its latest successes and failures. */
export const getWebhookEndpoint: Operation<'getWebhookEndpoint'> = async ({ path }, context) => {
  const endpoint = await getEndpoint(context, path.endpoint_id);
  return { status: 200, body: webhookEndpointView(endpoint) };
};
