import type { Operation } from './operation.js';
import { setInboxBehavior } from '../domain/webhooks/inbox.js';
import { inboxBehaviorView } from '../views/webhookView.js';
import { withIdempotency } from './withIdempotency.js';

/** PUT /sandbox/webhook-inbox/behavior: sets how the inbox responds, to test retries, timeouts and disabling. */
export const setWebhookInboxBehavior: Operation<'setWebhookInboxBehavior'> = ({ body }, context) =>
  withIdempotency(context, async (transaction) => {
    const behavior = await setInboxBehavior(transaction, body);
    return { status: 200, body: inboxBehaviorView(behavior) };
  });
