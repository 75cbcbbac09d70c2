import type { Operation } from './operation.js';
import { listDeliveries } from '../domain/webhooks/deliveries.js';
import { webhookDeliveryView } from '../views/webhookView.js';

/** GET /webhook-endpoints/{endpoint_id}/deliveries: newest first. */
export const listWebhookDeliveries: Operation<'listWebhookDeliveries'> = async ({ path, query }, context) => {
  const { rows, nextCursor } = await listDeliveries(context, path.endpoint_id, query);
  const data = rows.map(webhookDeliveryView);
  return { status: 200, body: { data, next_cursor: nextCursor, has_more: nextCursor !== null } };
};
