import type { Operation } from './operation.js';
import { listInbox } from '../domain/webhooks/inbox.js';
import { inboxMessageView } from '../views/webhookView.js';

/** GET /sandbox/webhook-inbox: what was sent to the address of this operation. */
export const listWebhookInbox: Operation<'listWebhookInbox'> = async (_input, context) => {
  const messages = await listInbox(context);
  return { status: 200, body: { data: messages.map(inboxMessageView) } };
};
