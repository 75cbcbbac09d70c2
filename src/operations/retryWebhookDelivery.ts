import type { Operation } from './operation.js';
import { retryDelivery } from '../domain/webhooks/deliveries.js';
import { webhookDeliveryView } from '../views/webhookView.js';
import { withIdempotency } from './withIdempotency.js';

/** POST /webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/retry: sends a delivery of any status again. */
export const retryWebhookDelivery: Operation<'retryWebhookDelivery'> = ({ path }, context) =>
  withIdempotency(context, async (transaction) => {
    const delivery = await retryDelivery(transaction, path.endpoint_id, path.delivery_id);
    return { status: 202, body: webhookDeliveryView(delivery) };
  });
