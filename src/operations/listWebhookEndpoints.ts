import type { Operation } from './operation.js';
import { listEndpoints } from '../domain/webhooks/endpoints.js';
import { webhookEndpointView } from '../views/webhookView.js';

/** GET /webhook-endpoints: the endpoints that the caller manages. */
export const listWebhookEndpoints: Operation<'listWebhookEndpoints'> = async (_input, context) => {
  const endpoints = await listEndpoints(context);
  return { status: 200, body: { data: endpoints.map(webhookEndpointView) } };
};
