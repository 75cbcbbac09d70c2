import type { Operation } from './operation.js';
import { rotateSecret } from '../domain/webhooks/endpoints.js';
import { withIdempotency, withoutSecret } from './withIdempotency.js';

/** POST /webhook-endpoints/{endpoint_id}/rotate-secret: for a day, the previous secret signs webhooks, too. */
export const rotateWebhookSecret: Operation<'rotateWebhookSecret'> = ({ path }, context) =>
  withIdempotency(
    context,
    async (transaction) => {
      const { secret, previousSecretUntil } = await rotateSecret(transaction, path.endpoint_id);
      return { status: 200, body: { secret, previousSecretUntil: previousSecretUntil.toISOString() } };
    },
    withoutSecret,
  );
