import type { NewEvent } from '../transactions/unitOfWork.js';
import { columnsOf, fromExcluded, tenantInsertion } from '../transactions/bulkSql.js';
import type { CallerContext } from '../transactions/transaction.js';

const endpointId = '01a1f9b8-cbc0-7000-8000-00000000ab01';
const deliveredId = '01a1f9b8-cbc0-7000-8000-00000000de01';
const failedId = '01a1f9b8-cbc0-7000-8000-00000000de02';

/**
 * Restores the webhook endpoint of the examples and two deliveries: one succeeded, one failed. The endpoint's API
 * client is inactive, so it receives no events and its secret is unused until another client takes it over.
 * @param events of the fixtures, about to be written
 */
export async function restoreWebhooks(context: CallerContext, events: readonly NewEvent[]): Promise<void> {
  const { tenantId, apiClientId } = context.caller;
  const now = context.now();
  const endpoint = {
    apiClientId,
    url: 'https://hooks.northwind.example/encounters',
    types: ['encounter.completed', 'order.created'],
    description: 'Practice management',
    status: 'active',
    disabledReason: null,
    secret: new Uint8Array(32),
    previousSecret: null,
    previousSecretUntil: null,
    fromPosition: 0n,
    lastSuccessAt: now,
    lastFailureAt: now,
    failingSince: null,
    createdAt: now,
    updatedAt: now,
  };
  await context.db.of(tenantId).run`
    ${tenantInsertion(tenantId, 'webhook_endpoint', [{ id: endpointId, ...endpoint }])}
    ON CONFLICT (tenant_id, id) DO UPDATE SET ${fromExcluded(columnsOf([endpoint]))}`;
  const delivery = (id: string, eventType: NewEvent['type'], status: 'delivered' | 'failed', httpStatus: number) => {
    const event = events.find(({ type }) => type === eventType);
    const attempt = { at: now, httpStatus, error: null, durationMs: 40 };
    return { id, endpointId, eventId: event?.id, status, attempts: [attempt], createdAt: now };
  };
  const deliveries = [
    delivery(deliveredId, 'encounter.completed', 'delivered', 204),
    delivery(failedId, 'order.created', 'failed', 500),
  ];
  // The transaction's last statement writes these deliveries together with their events.
  context.changes.push(tenantInsertion(tenantId, 'webhook_delivery', deliveries));
}
