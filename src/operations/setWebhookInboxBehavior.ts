import type { Operation } from './operation.js';
import { setInboxBehavior } from '../domain/webhooks/inbox.js';
import { inboxBehaviorView } from '../views/webhookView.js';
import { withIdempotency } from './withIdempotency.js';

/** PUT /sandbox/webhook-inbox/behavior: to test retries, timeouts and the disabling of an endpoint. */
export const setWebhookInboxBehavior: Operation<'setWebhookInboxBehavior'> = ({ body }, context) =>
  withIdempotency(context, async (transaction) => {
    const behavior = await setInboxBehavior(transaction, body);
    return { status: 200, body: inboxBehaviorView(behavior) };
  });
