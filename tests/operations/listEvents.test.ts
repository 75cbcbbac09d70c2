import { purgeEvents } from '../../src/domain/sweeps/purges.js';
import { recordEvent } from '../../src/domain/events/record.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { cursorOf } from '../../src/domain/transactions/listCursor.js';
import { inTransaction } from '../../src/domain/transactions/transaction.js';
import { eventsUpTo, feedPage, paid, recordPaid } from '../support/events.js';
import { newClient, newClinic, newPartner, newPatient, type Partner } from '../support/factories.js';
import { call, type CallOptions } from '../support/http.js';
import { openObservedHarness } from '../support/observedHarness.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter } from '../support/reviews.js';
import { scansOf, ownStatementsOf } from '../support/statements.js';

const { harness, observer } = await openObservedHarness();
/** A tenant with three patients. */
const partner = await newPartner(harness);
const patientIds: string[] = [];
for (let number = 0; number < 3; number += 1) patientIds.push(await newPatient(harness, partner));
await eventsUpTo(harness, partner, 'patient.created', 3);

const list = (query = '', options: CallOptions = { token: partner.token }) =>
  call(harness, `GET /events${query}`, options);
const ofNoClinic = ({ tenantId }: Partner) => ({ tenantId, clinicId: null });
/** Writes the events in one transaction, which is faster than single writes. */
const writeMany = (owner: Partner, count: number) =>
  inTransaction(harness.domain, async (transaction) => {
    const numbers = { encounter_id: 101_000, gfe_no: 'GFE-101000' };
    for (let n = 0; n < count; n += 1) recordEvent(transaction, ofNoClinic(owner), 'encounter.released', numbers);
  });
const makeOld = ({ tenantId }: Partner) => harness.domain.db.prisma.$executeRaw`
  UPDATE event SET recorded_at = now() - interval '31 days' WHERE tenant_id = ${tenantId}`;

/** All pages of the feed. */
async function pagesOf(reader: Partner, query: Readonly<Record<string, string | number>>) {
  const pages = [await feedPage(harness, reader, query)];
  while (pages.at(-1)?.has_more) {
    pages.push(await feedPage(harness, reader, { ...query, cursor: pages.at(-1)?.next_cursor }));
  }
  return pages;
}

describe('listEvents 200', () => {
  it('lists the events of the tenant in order', async () => {
    const { status, headers, body } = await list();
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      data: patientIds.map((user_id) => ({
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
        type: 'patient.created',
        data: { user_id },
        timestamp: harness.clock.now.toISOString(),
      })),
      next_cursor: expect.stringMatching(/^[A-Za-z0-9_-]+$/),
      has_more: false,
    });
  });

  it('lists the events of one encounter and of its order, page by page, and no others', async () => {
    const owner = await newPartner(harness);
    const [mine, other] = [await completedEncounter(harness, owner), await completedEncounter(harness, owner)];
    await eventsUpTo(harness, owner, 'order.created', 2);
    const all = (await list('', owner)).body.data as { data: { encounter_id?: number } }[];
    const expected = all.filter(({ data }) => data.encounter_id === mine.encounter_id);
    expect(expected.length).toBeGreaterThan(2);
    const pages = await pagesOf(owner, { encounter_id: mine.encounter_id, limit: 1 });
    expect(pages.flatMap(({ data }) => data)).toEqual(expected);
    const both = await list(`?encounter_id=${other.encounter_id}&types=order.created`, owner);
    expect(both.body.data).toMatchObject([{ type: 'order.created', data: { order_no: other.order_no } }]);
    expect((await list('?encounter_id=1', owner)).body.data).toEqual([]);
  });

  it('filters by type, even between events of one transaction', async () => {
    const mine = await newPartner(harness);
    const place = ofNoClinic(mine);
    await inTransaction(harness.domain, async (transaction) => {
      recordEvent(transaction, place, 'order.created', { ...paid('ORD-101000'), order_status: 'pending' });
      recordEvent(transaction, place, 'order.paid', paid('ORD-101000'));
      recordEvent(transaction, place, 'order.cancelled', paid('ORD-101000'));
    });
    await eventsUpTo(harness, mine, 'order.cancelled');
    const typesFor = async (types: string) => {
      const { data } = (await list(`?types=${types}`, { token: mine.token })).body;
      return data.map(({ type }: { type: string }) => type);
    };
    expect(await typesFor('order.paid')).toEqual(['order.paid']);
    expect(await typesFor('order.cancelled,order.created')).toEqual(['order.created', 'order.cancelled']);
    expect(await typesFor('order.cancelled%2Corder.created')).toEqual(['order.created', 'order.cancelled']);
    expect(await typesFor('order.cancelled&types=order.created')).toEqual(['order.created', 'order.cancelled']);
    expect(await typesFor('patient.created')).toEqual([]);
    const { next_cursor } = await feedPage(harness, mine, { types: 'patient.created' });
    expect(next_cursor).toBe((await feedPage(harness, mine)).next_cursor);
  });

  it('scans at most 1,000 events for the requested types, then returns has_more', async () => {
    const mine = await newPartner(harness);
    await writeMany(mine, 2_100);
    await recordPaid(harness, ofNoClinic(mine));
    await eventsUpTo(harness, mine, 'order.paid');
    const pages = await pagesOf(mine, { types: 'order.paid' });
    expect(pages.map(({ data }) => data.length)).toEqual([0, 0, 1]);
  });

  it('shows a client limited to clinics only their events and those of patients that it may see', async () => {
    const mine = await newPartner(harness);
    const { tenantId } = mine;
    const [here, elsewhere] = [await newClinic(harness, mine), await newClinic(harness, mine)];
    const limited = await newClient(harness, tenantId, permissions, [here]);
    for (const [index, clinicId] of [elsewhere, here, elsewhere].entries()) {
      await recordPaid(harness, { tenantId, clinicId }, `ORD-10100${index}`);
    }
    await newPatient(harness, mine);
    const own = await newPatient(harness, limited);
    await eventsUpTo(harness, mine, 'patient.created', 2);
    const { data, next_cursor } = await feedPage(harness, limited);
    expect(data.map((event) => event.data)).toMatchObject([{ order_no: 'ORD-101001' }, { user_id: own }]);
    expect(next_cursor).toBe((await feedPage(harness, mine)).next_cursor);
  });

  it('starts with the oldest stored event, and keeps the position when all have been purged', async () => {
    const mine = await newPartner(harness);
    await recordPaid(harness, ofNoClinic(mine), 'ORD-101001');
    await eventsUpTo(harness, mine, 'order.paid');
    const { next_cursor: seenAll } = await feedPage(harness, mine);
    await makeOld(mine);
    await purgeEvents(harness.domain);
    const empty = await feedPage(harness, mine);
    expect(empty).toEqual({ data: [], next_cursor: seenAll, has_more: false });
    await recordPaid(harness, ofNoClinic(mine), 'ORD-101002');
    await eventsUpTo(harness, mine, 'order.paid');
    for (const after of [undefined, empty.next_cursor]) {
      const { data } = await feedPage(harness, mine, { cursor: after });
      expect(data.map((event) => event.data['order_no'])).toEqual(['ORD-101002']);
    }
  });

  it.each([
    ['a cursor', ''],
    ['a cursor and a type', '&types=order.paid'],
  ])('sends one statement that uses the index of the feed for a request with %s', async (_what, types) => {
    const mine = await newPartner(harness);
    await writeMany(partner, 5_000);
    await writeMany(mine, 5_000);
    await observer.query('ANALYZE event');
    await list('', { token: mine.token });
    const { next_cursor } = await feedPage(harness, mine, { limit: 100 });
    const statements = await ownStatementsOf(() =>
      list(`?cursor=${next_cursor}&limit=20${types}`, { token: mine.token }),
    );
    const [statement, ...more] = statements;
    if (!statement) throw new Error('listEvents sent no statement: see ownStatementsOf');
    const scans = await scansOf(observer, statement);
    expect(more).toEqual([]);
    const tables = ['event', 'event_counter'];
    expect(scans.filter(({ table = '' }) => tables.includes(table))).toEqual(
      expect.arrayContaining([{ table: 'event', index: 'event_tenant_id_position_key' }]),
    );
    expect(scans.filter(({ table }) => table === 'event')).toHaveLength(1);
  });
});

describe('listEvents 400', () => {
  const invalid = [{ parameter: 'cursor', code: 'cursor_invalid' }];

  it('refuses the cursor of a future event', async () => {
    const future = cursorOf(partner.tenantId, 1_000_000);
    expectProblem(await list(`?cursor=${future}`), 400, 'cursor_invalid', invalid);
  });

  it('answers cursor_invalid to a cursor whose next events have been purged, but not to one after them', async () => {
    const mine = await newPartner(harness);
    const place = ofNoClinic(mine);
    const { next_cursor: atStart } = await feedPage(harness, mine);
    for (const orderNo of ['ORD-101001', 'ORD-101002']) await recordPaid(harness, place, orderNo);
    await eventsUpTo(harness, mine, 'order.paid', 2);
    const { next_cursor: afterOne } = await feedPage(harness, mine, { limit: 1 });
    const { next_cursor: afterBoth } = await feedPage(harness, mine);
    await makeOld(mine);
    await recordPaid(harness, place, 'ORD-101003');
    await eventsUpTo(harness, mine, 'order.paid', 3);
    await purgeEvents(harness.domain);
    for (const after of [atStart, afterOne]) {
      const answer = await list(`?cursor=${after}`, { token: mine.token });
      expectProblem(answer, 400, 'cursor_invalid', invalid);
      expect(answer.body.errors[0].detail).toMatch(/no longer kept/);
    }
    for (const after of [afterBoth, undefined]) {
      const { data } = await feedPage(harness, mine, { cursor: after });
      expect(data.map((event) => event.data['order_no'])).toEqual(['ORD-101003']);
    }
  });
});
