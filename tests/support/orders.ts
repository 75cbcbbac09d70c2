import type { EventType } from '../../src/contract.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer, type Caller, type Server } from './http.js';

let payments = 0;

/** GET /orders/{order_no} */
export function getOrder(server: Server, { token }: Caller, orderNo: string): Promise<Answer> {
  return call(server, `GET /orders/${orderNo}`, { token });
}

/** Records a payment, by default with a new key. */
export function pay(
  server: Server,
  { token }: Caller,
  orderNo: string,
  json: unknown,
  key = `payment-${(payments += 1)}`,
): Promise<Answer> {
  return call(server, `POST /orders/${orderNo}/payments`, { token, json, headers: { 'Idempotency-Key': key } });
}

/** Types of events of an order without refunds, shipments and holds; `encounter.completed` names the order, too. */
export const orderEvents = ['order.created', 'order.updated', 'order.paid', 'order.cancelled'] as const;

/** Events of a tenant about an order or encounter, in the order of the feed. */
export async function eventsAbout(
  { domain }: Pick<Harness, 'domain'>,
  { tenantId }: Pick<Partner, 'tenantId'>,
  about: { readonly order_no?: string; readonly encounter_id?: number },
  ...types: readonly EventType[]
): Promise<{ type: EventType; clinic_id: string | null; timestamp: Date; data: Record<string, unknown> }[]> {
  return domain.db.prisma.$queryRaw`
    SELECT type::text, clinic_id, timestamp, data FROM event
    WHERE tenant_id = ${tenantId} AND data @> ${JSON.stringify(about)}::jsonb
      AND (cardinality(${[...types]}::text[]) = 0 OR type::text = ANY(${[...types]}::text[]))
    ORDER BY position`;
}
