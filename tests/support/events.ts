import { setTimeout as delay } from 'node:timers/promises';
import type { EventType } from '../../src/contract.js';
import { recordEvent, type EventDataOf, type EventPlace } from '../../src/domain/events/record.js';
import { inTransaction } from '../../src/domain/transactions/transaction.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer } from './http.js';

export interface ToldEvent {
  readonly id: string;
  readonly type: EventType;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads one page of the feed; throws when it is refused. */
export async function feedPage(
  harness: Pick<Harness, 'baseUrl'>,
  { token }: Pick<Partner, 'token'>,
  query: Readonly<Record<string, string | number | undefined>> = {},
): Promise<{ data: readonly ToldEvent[]; next_cursor: string; has_more: boolean }> {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  const answer: Answer = await call(harness, `GET /events?${given.toString()}`, { token });
  if (answer.status !== 200) throw new Error(`no events: ${answer.status} ${answer.body?.code}`);
  return answer.body;
}

/**
 * The events of a partner from the oldest on, as soon as an event of this type is among them so many times. The feed
 * ends before any transaction that is under way, and PostgreSQL counts those of other tests, too.
 */
export async function eventsUpTo(
  harness: Pick<Harness, 'baseUrl'>,
  partner: Pick<Partner, 'token'>,
  type: EventType,
  times = 1,
): Promise<ToldEvent[]> {
  const events: ToldEvent[] = [];
  // Gives up before jest does, so that what follows is cleaned up.
  const deadline = Date.now() + 20_000;
  let after: string | undefined;
  while (Date.now() < deadline) {
    const page = await feedPage(harness, partner, { after, limit: 100 });
    events.push(...page.data);
    if (events.filter((event) => event.type === type).length >= times) return events;
    after = page.next_cursor;
    if (!page.has_more) await delay(10);
  }
  throw new Error(`waited in vain for ${times} ${type} among ${events.map((event) => event.type).join(', ')}`);
}

/** Any type, for tests of the feed itself: its data does not matter. */
export const recordPaid = (
  { domain }: Pick<Harness, 'domain'>,
  place: EventPlace,
  orderNo = 'ORD-101000',
): Promise<void> =>
  inTransaction(domain, (transaction) => recordEvent(transaction, place, 'order.paid', paid(orderNo)));

export const paid = (orderNo: string): EventDataOf<'order.paid'> => ({
  order_no: orderNo,
  encounter_id: 101_000,
  order_status: 'paid',
  grand_total: '255.00',
  balance_amt: '0.00',
});
