import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { eventsUpTo, feedPage, recordPaid, type ToldEvent } from '../../support/events.js';
import { newPartner, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';

const WRITERS = 50;
/** Of each writer, one after the other. */
const TRANSACTIONS = 8;
/** Most milliseconds that a transaction is held open after each event. */
const LONGEST = 60;

let database: TestDatabase;
let harness: Harness;
let clients: Client[];
beforeAll(async () => {
  database = await createTestDatabase();
  harness = await startHarness({ databaseUrl: database.url });
  clients = await Promise.all(Array.from({ length: WRITERS }, async () => {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    return client;
  }));
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await harness.close();
  await database.drop();
});

const orderNos = (events: readonly ToldEvent[]) => events.map(({ data }) => data['order_no']);
/** The columns that the domain writes too: transaction and number come from the database. */
const insert = (client: Client, { tenantId }: Partner, orderNo: string) => client.query(`
  INSERT INTO event (id, tenant_id, type, data, timestamp)
  VALUES (gen_random_uuid(), $1, 'order.paid', jsonb_build_object('order_no', $2::text), now())`, [tenantId, orderNo]);

/** What it committed of transactions of one to three events, held open for random times; a quarter is rolled back. */
async function write(client: Client, writer: number, partner: Partner): Promise<string[]> {
  const committed: string[] = [];
  for (let number = 0; number < TRANSACTIONS; number += 1) {
    const own = ['1', '2', '3'].slice(number % 3).map((event) => `ORD-${100_000 + writer}${number}${event}`);
    await client.query('BEGIN');
    for (const orderNo of own) {
      await insert(client, partner, orderNo);
      await delay(Math.random() * LONGEST);
    }
    const isKept = (writer + number) % 4 !== 0;
    await client.query(isKept ? 'COMMIT' : 'ROLLBACK');
    if (isKept) committed.push(...own);
  }
  return committed;
}

/** Pages from the beginning until it has seen the last order. */
async function readUntil(partner: Partner, last: string, limit: number): Promise<ToldEvent[]> {
  const events: ToldEvent[] = [];
  let after: string | undefined;
  while (!orderNos(events.slice(-limit)).includes(last)) {
    const page = await feedPage(harness, partner, { after, limit });
    events.push(...page.data);
    after = page.next_cursor;
    if (!page.has_more) await delay(5);
  }
  return events;
}

describe('the feed', () => {
  it(`shows every event once to readers, while ${WRITERS} writers hold their transactions open`, async () => {
    const partner = await newPartner(harness);
    const last = 'ORD-999999999';
    const readers = [7, 100].map((limit) => readUntil(partner, last, limit));
    const written = (await Promise.all(clients.map((client, writer) => write(client, writer, partner)))).flat();
    await recordPaid(harness, { tenantId: partner.tenantId, clinicId: null }, last);
    const [first = [], ...others] = await Promise.all(readers);
    expect(written.length).toBeGreaterThan(WRITERS * TRANSACTIONS);
    expect(orderNos(first).toSorted()).toEqual([...written, last].toSorted());
    // All in the same order, which is also that of a reader who comes later.
    for (const other of others) expect(other).toEqual(first);
    expect(await readUntil(partner, last, 100)).toEqual(first);
  });

  it('waits for the oldest transaction: a reader by number alone would miss what that commits', async () => {
    const partner = await newPartner(harness);
    const { tenantId } = partner;
    const [slow, quick] = clients;
    if (!slow || !quick) throw new Error('no clients');
    // What a feed with the event's number as its cursor would do.
    const byNumber = (after: bigint) => harness.domain.db.event.findMany({
      where: { tenantId, sequence: { gt: after } }, orderBy: { sequence: 'asc' },
    });
    await slow.query('BEGIN');
    await insert(slow, partner, 'ORD-100001');
    await insert(quick, partner, 'ORD-100002');
    const early = await byNumber(0n);
    const page = await feedPage(harness, partner);
    await slow.query('COMMIT');
    expect(orderNos(await eventsUpTo(harness, partner, 'order.paid', 2))).toEqual(['ORD-100001', 'ORD-100002']);
    // It had seen the second only, and its cursor is behind the first now.
    expect(early).toMatchObject([{ data: { order_no: 'ORD-100002' } }]);
    expect(await byNumber(early[0]?.sequence ?? 0n)).toEqual([]);
    expect(page).toMatchObject({ data: [], has_more: false });
    expect((await feedPage(harness, partner, { after: page.next_cursor })).data).toHaveLength(2);
  });
});
