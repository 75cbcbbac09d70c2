import type { Operation } from './operation.js';
import { checkUrl, createEndpoint } from '../domain/webhooks/endpoints.js';
import { webhookEndpointView } from '../views/webhookView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /webhook-endpoints: the response has the secret, as otherwise only that of a rotation. */
export const createWebhookEndpoint: Operation<'createWebhookEndpoint'> = async ({ body }, context) => {
  checkUrl(context, body.url);
  return withIdempotency(
    context,
    async (transaction) => {
      const { endpoint, secret } = await createEndpoint(transaction, body);
      return { status: 201, body: { ...webhookEndpointView(endpoint), secret } };
    },
    ({ status, body: { secret: _shownOnce, ...shown } }) => ({ status, body: shown }),
  );
};
