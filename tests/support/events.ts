import type { DomainContext } from '../../src/context.js';
import type { EventDataOf, EventType } from '../../src/contract.js';
import { recordEvent, type EventPlace } from '../../src/domain/events/record.js';
import { inTransaction } from '../../src/domain/transactions/transaction.js';
import type { Partner } from './factories.js';
import { call, type Caller, type Server } from './http.js';

export interface ToldEvent {
  readonly id: string;
  readonly type: EventType;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads one page of the feed; throws when it is refused. */
export async function feedPage(
  server: Server,
  { token }: Caller,
  query: Readonly<Record<string, string | number | undefined>> = {},
): Promise<{ data: readonly ToldEvent[]; next_cursor: string; has_more: boolean }> {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  const { status, body } = await call(server, `GET /events?${given.toString()}`, { token });
  if (status !== 200)
    throw new Error(`GET /events answered ${status} ${body?.code}, not 200: read a refusal by call()`);
  return body;
}

/** All events of a partner; throws when fewer than `times` have this type. */
export async function eventsUpTo(
  server: Server,
  caller: Caller,
  type: EventType,
  times = 1,
  limit = 100,
): Promise<ToldEvent[]> {
  const events: ToldEvent[] = [];
  for (let cursor: string | undefined, more = true; more;) {
    const page = await feedPage(server, caller, { cursor, limit });
    events.push(...page.data);
    [cursor, more] = [page.next_cursor, page.has_more];
  }
  if (events.filter((event) => event.type === type).length >= times) return events;
  throw new Error(
    `The feed has fewer than ${times} ${type}: cause more, or expect fewer. Its events: ${events.map((event) => event.type).join(', ')}`,
  );
}

/** Records `order.paid` events for tests of the feed, which ignore their data. */
export const recordPaid = (
  { domain }: { readonly domain: DomainContext },
  place: EventPlace,
  orderNo = 'ORD-101000',
  count = 1,
): Promise<void> =>
  inTransaction(domain, async (transaction) => {
    for (let n = 0; n < count; n += 1) recordEvent(transaction, place, 'order.paid', paid(orderNo));
  });

/** Records the events of a webhook endpoint. */
export async function recordEndpointEvents(
  transaction: Parameters<typeof recordEvent>[0],
  { tenantId }: Pick<Partner, 'tenantId'>,
): Promise<void> {
  const place = { tenantId, clinicId: null };
  const endpointId = transaction.newId();
  recordEvent(transaction, place, 'webhook.ping', { endpointId });
  recordEvent(transaction, place, 'webhook.disabled', { endpointId, reason: 'gone' });
}

export const paid = (orderNo: string): EventDataOf<'order.paid'> => ({
  order_no: orderNo,
  encounter_id: 101_000,
  order_status: 'paid',
  grand_total: '255.00',
  balance_amt: '0.00',
});
