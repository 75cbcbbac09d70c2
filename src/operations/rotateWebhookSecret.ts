import type { Operation } from './operation.js';
import { rotateSecret } from '../domain/webhooks/endpoints.js';
import { withIdempotency, withoutSecret } from './withIdempotency.js';

/** POST /webhook-endpoints/{endpoint_id}/rotate-secret: the previous secret also signs for a day. */
export const rotateWebhookSecret: Operation<'rotateWebhookSecret'> = ({ path }, context) =>
  withIdempotency(
    context,
    async (transaction) => {
      const { secret, previousSecretUntil } = await rotateSecret(transaction, path.endpoint_id);
      return { status: 200, body: { secret, previousSecretUntil: previousSecretUntil.toISOString() } };
    },
    withoutSecret,
  );
