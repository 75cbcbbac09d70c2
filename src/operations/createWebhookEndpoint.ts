import type { Operation } from './operation.js';
import { checkUrl, createEndpoint } from '../domain/webhooks/endpoints.js';
import { webhookEndpointView } from '../views/webhookView.js';
import { withIdempotency, withoutSecret } from './withIdempotency.js';

/** POST /webhook-endpoints: only this response and that of a rotation contain the secret. */
export const createWebhookEndpoint: Operation<'createWebhookEndpoint'> = async ({ body }, context) => {
  checkUrl(context, body.url);
  return withIdempotency(
    context,
    async (transaction) => {
      const { endpoint, secret } = await createEndpoint(transaction, body);
      const headers = { Location: `/webhook-endpoints/${endpoint.id}` };
      return { status: 201, headers, body: { ...webhookEndpointView(endpoint), secret } };
    },
    withoutSecret,
  );
};
