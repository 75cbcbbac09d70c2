import fc from 'fast-check';
import { encounterBody, newClient, newClinic, newEncounter, newPartner, newPatient } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { cancelled, claim, recordOf } from '../support/reviews.js';

type Encounter = Answer['body'];
type Query = Readonly<Record<string, string | number>>;

const harness = await openHarness();
const partner = await newPartner(harness);
const valid = await encounterBody(harness, partner);
const clinics = [valid.clinicId, await newClinic(harness, partner)];
const patients = [valid.patientId, await newPatient(harness, partner)];
/** All encounters, the newest first: of two clinics, two patients, two references and several statuses, some created at one moment. */
const all: Encounter[] = [];
const zone = { scheduledTimeZone: 'America/New_York' };
for (let number = 0; number < 12; number += 1) {
  const json = { ...valid, clinicId: clinics[number % 2], patientId: patients[number % 3 === 0 ? 1 : 0] };
  const own = {
    ...(number % 4 === 0 ? {} : { reference: `APPT-${number % 2}` }),
    ...(number % 3 === 0
      ? {}
      : {
          scheduledDay: `2026-12-0${(number % 4) + 1}`,
          ...(number % 3 === 1 ? { scheduledTime: '22:30:00', ...zone } : {}),
        }),
    ...(number % 3 === 2 ? { reviewType: 'synchronous' } : {}),
  };
  const { body } = await call(harness, 'POST /encounters', { token: partner.token, json: { ...json, ...own } });
  if (number % 6 === 1) await claim(harness, partner, body);
  if (number % 6 === 2) await cancelled(harness, partner, body);
  const read = await call(harness, `GET /encounters/${body.encounter_id}`, { token: partner.token });
  all.unshift(recordOf(read.body));
  if (number % 3 === 2) harness.clock.advance(60);
}

// An encounter of another tenant, which no list may show.
await newEncounter(harness, await newPartner(harness));

function list(query: Query = {}, { token }: { token: string | undefined } = partner): Promise<Answer> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  return call(harness, `GET /encounters?${search.toString()}`, { token });
}

/** All pages, one after the other. */
async function pagesOf(query: Query, caller = partner): Promise<Encounter[][]> {
  const pages: Encounter[][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { status, body }: Answer = await list({ ...query, ...(cursor === '' ? {} : { cursor }) }, caller);
    expect(status).toBe(200);
    expect(body.has_more).toBe(body.next_cursor !== null);
    pages.push(body.data);
    expect(pages.length).toBeLessThanOrEqual(all.length);
    cursor = body.next_cursor;
  }
  return pages;
}

describe('listEncounters 200', () => {
  it('lists encounters as getEncounter does, but without visitUrl, information and addenda, the newest first', async () => {
    const { status, headers, body } = await list();
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({ data: all, next_cursor: null, has_more: false });
  });

  it('pages through random combinations of filters, each encounter once and in order', async () => {
    const days = fc.constantFrom('2026-12-01', '2026-12-02', '2026-12-03', '2026-12-05');
    const query = fc.record(
      {
        status: fc.uniqueArray(fc.constantFrom('pending_review', 'in_review', 'completed', 'cancelled'), {
          minLength: 1,
        }),
        reviewType: fc.constantFrom('synchronous', 'asynchronous'),
        scheduled_from: days,
        scheduled_to: days,
        updated_after: fc.constantFrom(...all.map(({ updatedAt }) => updatedAt as string)),
        patientId: fc.constantFrom(...patients),
        clinicId: fc.constantFrom(...clinics),
        reference: fc.constantFrom('APPT-0', 'APPT-1', 'appt-1'),
        created_after: fc.constantFrom(...all.map(({ createdAt }) => createdAt as string)),
        limit: fc.integer({ min: 1, max: 13 }),
      },
      { requiredKeys: ['limit'] },
    );
    await fc.assert(
      fc.asyncProperty(query, async (filter) => {
        const { limit, created_after, updated_after, scheduled_from, scheduled_to, status, ...equal } = filter;
        const isWithin = (time: string | null, from?: string, to?: string): boolean =>
          (from === undefined && to === undefined) ||
          (time !== null && (from === undefined || time >= from) && (to === undefined || time.slice(0, 10) <= to));
        const expected = all.filter(
          (encounter) =>
            Object.entries(equal).every(([name, value]) => encounter[name] === value) &&
            (status === undefined || status.includes(encounter.status)) &&
            isWithin(encounter.scheduledAt ?? encounter.scheduledDay, scheduled_from, scheduled_to) &&
            (updated_after === undefined || encounter.updatedAt > updated_after) &&
            (created_after === undefined || encounter.createdAt > created_after),
        );
        const pages = await pagesOf({ ...filter, ...(status ? { status: status.join() } : {}) } as Query);
        expect(pages.flat()).toEqual(expected);
        expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true);
        // A page may be empty only if it is the only one.
        expect(pages).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)));
      }),
      { numRuns: 60, examples: [[{ limit: 1 }], [{ limit: 12 }], [{ limit: 5, clinicId: clinics[0] ?? '' }]] },
    );
  });

  it('continues after the cursor without repetition or gap when encounters are added in between', async () => {
    const owner = await newPartner(harness);
    const json = await encounterBody(harness, owner);
    const create = () => call(harness, 'POST /encounters', { token: owner.token, json });
    const before = [await create(), await create(), await create()].map(({ body }) => body.encounter_id).toReversed();
    const first = await list({ limit: 1 }, owner);
    await create();
    const second = await list({ limit: 5, cursor: first.body.next_cursor }, owner);
    expect([...first.body.data, ...second.body.data].map(({ encounter_id }) => encounter_id)).toEqual(before);
  });

  it('accepts several statuses with commas or repeated, in any letter case', async () => {
    const expected = all.filter(({ status }) => status !== 'pending_review');
    expect(new Set(expected.map(({ status }) => status)).size).toBe(2);
    for (const query of ['status=IN_REVIEW,cancelled', 'status=in_review&status=Cancelled']) {
      const { body } = await call(harness, `GET /encounters?${query}`, { token: partner.token });
      expect(body.data).toEqual(expected);
    }
  });

  it.each([
    ['2026-11-20T17:01:00+01:00', 6],
    ['2026-11-20t16:01:00z', 6],
    ['2026-11-20T16:01:00.00000000000000000000Z', 6],
    ['0000-01-01T00:00:00Z', 12],
    ['9999-12-31T23:59:59-23:59', 0],
    ['2016-12-31T23:59:60Z', 12],
    ['2999-06-30T17:59:60.5-06:00', 0],
  ])('filters by created_after in the RFC 3339 form %s', async (created_after, length) => {
    expect((await list({ created_after })).body.data).toEqual(all.slice(0, length));
  });

  it('shows a client limited to clinics only their encounters', async () => {
    const [mine = '', theirs = ''] = clinics;
    const limited = await newClient(harness, partner.tenantId, ['read:encounter'], [mine]);
    const expected = all.filter(({ clinicId }) => clinicId === mine);
    expect((await pagesOf({ limit: 2 }, limited)).flat()).toEqual(expected);
    expect((await list({ clinicId: mine }, limited)).body.data).toEqual(expected);
    expect((await list({ clinicId: theirs }, limited)).body).toEqual({ data: [], next_cursor: null, has_more: false });
    const both = await newClient(harness, partner.tenantId, ['read:encounter'], clinics);
    expect((await pagesOf({ limit: 5 }, both)).flat()).toEqual(all);
  });
});
