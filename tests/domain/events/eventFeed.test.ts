import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../../src/adapters/database/database.js';
import { recordEvent } from '../../../src/domain/events/record.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import { systemContext } from '../../../src/runtime/systemContext.js';
import { feedPage, paid, recordPaid, type ToldEvent } from '../../support/events.js';
import { newPartner, type Partner } from '../../support/factories.js';
import { untilBlocked } from '../../support/lockWaits.js';
import { startObservedHarness } from '../../support/observedHarness.js';

const WRITERS = 50;
/** Transactions of each writer, one after the other. */
const TRANSACTIONS = 8;
/** The longest pause of a transaction after an event. */
const MAX_PAUSE_MS = 20;
/** The statement timeout of a writer: on a slow machine it waits long for the other writers of its tenant. */
const WRITER_TIMEOUT_MS = 60_000;

const service = await startObservedHarness();
const { harness, observer } = service;
const writers = openDatabase(service.databaseUrl, { poolSize: WRITERS, timeoutMs: WRITER_TIMEOUT_MS });
afterAll(() => writers.close().then(service.close));

const orderNos = (events: readonly ToldEvent[]) => events.map(({ data }) => data['order_no']);
const placeOf = ({ tenantId }: Partner) => ({ tenantId, clinicId: null });
/** The database rejects an event with this status at COMMIT, after the events were written. */
const refused = { order_status: 'cancelled' } as const;

/**
 * Runs transactions of one to three events: of four, one throws and one is rejected at COMMIT.
 * @returns the numbers of the committed orders
 */
async function write(writer: number, partner: Partner): Promise<string[]> {
  const committed: string[] = [];
  for (let number = 0; number < TRANSACTIONS; number += 1) {
    const own = ['1', '2', '3'].slice(number % 3).map((event) => `ORD-${100_000 + writer}${number}${event}`);
    const fate = (writer + number) % 4;
    const done = inTransaction(systemContext(writers), async (transaction) => {
      for (const orderNo of own) {
        recordEvent(transaction, placeOf(partner), 'order.paid', { ...paid(orderNo), ...(fate === 1 ? refused : {}) });
        await delay(Math.random() * MAX_PAUSE_MS);
      }
      if (fate === 0) throw new Error('given up');
    });
    if (fate < 2) await expect(done).rejects.toThrow(/given up|refused/);
    else committed.push(...(await done.then(() => own)));
  }
  return committed;
}

/** Reads pages from the beginning until the last order arrives. */
async function readUntil(partner: Partner, last: string, limit: number): Promise<ToldEvent[]> {
  const events: ToldEvent[] = [];
  let cursor: string | undefined;
  while (!orderNos(events.slice(-limit)).includes(last)) {
    const page = await feedPage(harness, partner, { cursor, limit });
    events.push(...page.data);
    cursor = page.next_cursor;
    if (!page.has_more) await delay(5);
  }
  return events;
}

describe('listEvents', () => {
  it(`shows every reader of a tenant each event once and in one order, while ${WRITERS} writers work`, async () => {
    const partners = [await newPartner(harness), await newPartner(harness)];
    // Commits follow late after the events.
    await observer.query(`
      CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_sleep(random() * 0.005); RETURN NULL; END $$;
      CREATE TRIGGER dawdle AFTER INSERT ON event EXECUTE FUNCTION dawdle();
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
      CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON event DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
        WHEN (NEW.data->>'order_status' = '${refused.order_status}') EXECUTE FUNCTION refuse()`);
    const last = 'ORD-999999999';
    const writeAll = async (partner: Partner): Promise<string[]> => {
      const written = await Promise.all(Array.from({ length: WRITERS / 2 }, (_, writer) => write(writer, partner)));
      await recordPaid(harness, placeOf(partner), last);
      return [...written.flat(), last];
    };
    const all = await Promise.all(
      partners.map((partner) =>
        Promise.all([writeAll(partner), readUntil(partner, last, 7), readUntil(partner, last, 100)]),
      ),
    );
    for (const [index, [own, first, second]] of all.entries()) {
      const partner = partners[index] as Partner;
      expect(own.length).toBeGreaterThan((WRITERS * TRANSACTIONS) / 4);
      expect(orderNos(first).toSorted()).toEqual(own.toSorted());
      // A simultaneous and a later reader see the same order.
      expect(second).toEqual(first);
      expect(await readUntil(partner, last, 100)).toEqual(first);
    }
    await observer.query('DROP TRIGGER dawdle ON event; DROP TRIGGER refuse ON event');
  });

  it('lists no event before an earlier one whose commit is late', async () => {
    const partner = await newPartner(harness);
    await recordPaid(harness, placeOf(partner), 'ORD-100000');
    const { next_cursor: cursor } = await feedPage(harness, partner);
    await observer.query(`
      CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
      CREATE TRIGGER hold AFTER INSERT ON event FOR EACH ROW WHEN (NEW.data->>'order_no' = 'ORD-100001')
        EXECUTE FUNCTION hold();
      SELECT pg_advisory_lock(1)`);
    const late = recordPaid(harness, placeOf(partner), 'ORD-100001');
    await untilBlocked(harness);
    let isDone = false;
    const next = recordPaid(harness, placeOf(partner), 'ORD-100002').then(() => (isDone = true));
    await untilBlocked(harness, 2, () => isDone);
    const page = await feedPage(harness, partner, { cursor });
    await observer.query('SELECT pg_advisory_unlock(1)');
    await Promise.all([late, next]);
    const rest = await feedPage(harness, partner, { cursor: page.next_cursor });
    expect([orderNos(page.data), orderNos(rest.data)]).toEqual([[], ['ORD-100001', 'ORD-100002']]);
    await observer.query('DROP TRIGGER hold ON event');
  });

  it('orders events by commit, so that a reader neither waits for an open transaction nor misses its events', async () => {
    const partner = await newPartner(harness);
    let page = await feedPage(harness, partner);
    await inTransaction(harness.domain, async (transaction) => {
      recordEvent(transaction, placeOf(partner), 'order.paid', paid('ORD-100001'));
      await transaction.db.of(partner.tenantId).run`
        INSERT INTO sweep_failure (tenant_id, row_id, failures, retry_at)
        VALUES (${partner.tenantId}, ${transaction.newId()}::uuid, 1, now())`;
      await recordPaid(harness, placeOf(partner), 'ORD-100002');
      page = await feedPage(harness, partner, { cursor: page.next_cursor });
    });
    expect(orderNos(page.data)).toEqual(['ORD-100002']);
    expect(orderNos((await feedPage(harness, partner, { cursor: page.next_cursor })).data)).toEqual(['ORD-100001']);
  });

  it('does not block one tenant while the event counter of another is locked', async () => {
    const [partner, other] = [await newPartner(harness), await newPartner(harness)];
    await recordPaid(harness, placeOf(partner));
    await observer.query('BEGIN');
    await observer.query('SELECT FROM event_counter WHERE tenant_id = $1 FOR UPDATE', [partner.tenantId]);
    await recordPaid(harness, placeOf(other));
    await observer.query('ROLLBACK');
    expect((await feedPage(harness, other)).data).toHaveLength(1);
  });
});
