import type { Operation } from './operation.js';
import { listDeliveries } from '../domain/webhooks/deliveries.js';
import { cursorPage } from '../views/cursorPage.js';
import { webhookDeliveryView } from '../views/webhookView.js';

/** GET /webhook-endpoints/{endpoint_id}/deliveries: newest first. */
export const listWebhookDeliveries: Operation<'listWebhookDeliveries'> = async ({ path, query }, context) => {
  const page = await listDeliveries(context, path.endpoint_id, query);
  return { status: 200, body: cursorPage(page, webhookDeliveryView) };
};
