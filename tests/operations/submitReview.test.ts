import { newClient, newClinic, newEncounter, newPartner, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectInvalidState } from '../support/invalidState.js';
import { expectProblem, withoutTable } from '../support/refusals.js';
import {
  cancelled,
  claim,
  claimedEncounter,
  deny,
  eventsOf,
  noChartVersion,
  reviewBody,
  reviewed,
  reviewer,
  type Decide,
  recordOf,
} from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
/** Scenarios B and C of the domain guide; each treatment has its own category. */
const botox = await newProduct(harness, partner, {
  price: '240.00',
  shippingType: 'FLAT_RATE',
  shippingAmount: '15.00',
});
const free = { shippingType: 'FREE_SHIPPING', shippingAmount: '25.00' } as const;
const semaglutide = await newProduct(harness, partner, { price: '299.00', ...free, isRx: true });

const send = (encounterNo: unknown, json: unknown, { token } = partner): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/review`, { token, json });
const stored = async ({ encounter_id }: Answer['body']): Promise<Answer['body']> =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body);
const bothClaimed = (): Promise<Answer['body']> =>
  claimedEncounter(harness, partner, { treatmentIds: [botox, semaglutide] });
const denySecond: Decide = (item, index) => (index === 1 ? deny(item, index) : { decision: 'approved' });

describe('submitReview 200', () => {
  it('completes the encounter and creates its order', async () => {
    const claimed = await bothClaimed();
    harness.clock.advance(600);
    const json = { ...(await reviewBody(harness, partner, claimed)), notes: 'History read.' };
    const { status, headers, body } = await send(claimed.encounter_id, json);
    const now = harness.clock.now.toISOString();
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    const final = { status: 'completed', leaseExpiresAt: null, completedAt: now, updatedAt: now, version: 3 };
    const approved = { status: 'approved', decidedAt: now, validUntil: '2027-11-20T16:10:00.000Z' };
    const gfe_data = claimed.gfe_data.map((item: object) => ({ ...item, ...approved }));
    expect(body).toEqual({ ...claimed, ...final, order_no: expect.stringMatching(/^ORD-\d{6,}$/), gfe_data });
    expect(await stored(claimed)).toEqual(body);
    const { encounter_id, gfe_no } = claimed;
    expect(await eventsOf(harness, claimed)).toContainEqual([
      'encounter.completed',
      { encounter_id, gfe_no, approved: 2, denied: 0, order_no: body.order_no },
    ]);
  });

  it('orders only the approved items: 255.00 of 554.00 (scenario C)', async () => {
    const claimed = await bothClaimed();
    const { body } = await send(claimed.encounter_id, await reviewBody(harness, partner, claimed, denySecond));
    expect(body).toMatchObject({
      status: 'completed',
      estimate: { grand_total: 554 },
      gfe_data: [
        { status: 'approved', denialReason: null },
        { status: 'denied', denialReason: 'Contraindicated.', validUntil: null, decidedAt: body.completedAt },
      ],
    });
    const json = { encounter_id: claimed.encounter_id };
    const view = await call(harness, 'POST /encounters/status', { token: partner.token, json });
    const sums = { sub_total: 240, total_shipping_amt: 15, grand_total: 255, balance_amt: 255 };
    expect(view.body.order_details).toMatchObject({ order_no: body.order_no, order_status: 'pending', ...sums });
    const events = await eventsOf(harness, claimed);
    expect(events.find(([type]) => type === 'encounter.completed')?.[1]).toMatchObject({ approved: 1, denied: 1 });
  });

  it('denies the encounter and creates no order if every item is denied (scenario C)', async () => {
    const claimed = await bothClaimed();
    const { body } = await send(claimed.encounter_id, await reviewBody(harness, partner, claimed, deny));
    const completedAt = harness.clock.now.toISOString();
    const final = { status: 'denied', order_no: null, leaseExpiresAt: null, version: 3 };
    expect(body).toMatchObject({ ...final, reviewerRef: reviewer, completedAt });
    const { tenantId } = partner;
    expect(await harness.domain.db.prisma.order.count({ where: { tenantId, encounterId: body.id } })).toBe(0);
    const { encounter_id, gfe_no } = claimed;
    const last = (await eventsOf(harness, claimed)).at(-1);
    expect(last).toEqual(['encounter.denied', { encounter_id, gfe_no, denied: 2 }]);
  });

  it('accepts decisions in any order and ids in any letter case, and returns neither visit nor notes', async () => {
    harness.clock.now = new Date('2026-11-20T15:35:00.000Z');
    const visits = { treatmentIds: [botox, semaglutide], reviewType: 'synchronous' };
    const claimed = await claimedEncounter(harness, partner, visits);
    const { decisions, ...rest } = await reviewBody(harness, partner, claimed, denySecond);
    const upper = JSON.parse(JSON.stringify(decisions), (key, value) =>
      key.endsWith('Id') ? value.toUpperCase() : value,
    );
    const visit = { startedAt: '2026-11-20T09:30:00-06:00', endedAt: '2026-11-20t15:30:00.00000000000000000000z' };
    const json = { ...rest, decisions: upper.toReversed(), visit, notes: 'Pale.' };
    const { status, body, text } = await send(claimed.encounter_id, json);
    expect(status).toBe(200);
    expect(body.gfe_data).toMatchObject([{ status: 'approved' }, { status: 'denied' }]);
    expect(text).not.toMatch(/Pale|15:30|09:30/);
    const { tenantId } = partner;
    const row = await harness.domain.db.prisma.encounter.findFirst({ where: { tenantId, id: claimed.id } });
    const time = new Date('2026-11-20T15:30:00.000Z');
    expect(row).toMatchObject({ reviewNotes: 'Pale.', visitStartedAt: time, visitEndedAt: time });
  });

  it('stores no denialReason for an approval that comes with a reason', async () => {
    const claimed = await claimedEncounter(harness, partner);
    const json = await reviewBody(harness, partner, claimed, () => ({ decision: 'approved', reason: 'Fit.' }));
    expect((await send(claimed.encounter_id, json)).body.gfe_data).toMatchObject([{ denialReason: null }]);
  });

  it('accepts the review in the last millisecond of the lease', async () => {
    const claimed = await claimedEncounter(harness, partner);
    harness.clock.advance(3599.999);
    expect((await send(claimed.encounter_id, await reviewBody(harness, partner, claimed))).status).toBe(200);
  });
});

describe('submitReview 400', () => {
  const visit = { startedAt: '2026-11-20T15:30:00Z', endedAt: '2026-11-20T15:45:00Z' };
  beforeEach(() => {
    harness.clock.now = new Date('2026-11-20T15:45:00.000Z');
  });

  it('refuses a visit that begins more than 15 minutes before the claim or ends in the future', async () => {
    const claimed = await claimedEncounter(harness, partner, { reviewType: 'synchronous' });
    const json = await reviewBody(harness, partner, claimed);
    const at = (startedAt: string, endedAt: string) => ({ ...json, visit: { startedAt, endedAt } });
    const late = at('2026-11-20T15:29:59.999Z', '2026-11-20T15:46:00.001Z');
    const faults = ['startedAt', 'endedAt'].map((name) => ({ pointer: `#/visit/${name}`, code: 'range' }));
    expectProblem(await send(claimed.encounter_id, late), 400, 'validation_failed', faults);
    expect(await stored(claimed)).toEqual(claimed);
    const fits = at('2026-11-20T15:30:00.000Z', '2026-11-20T15:46:00.000Z');
    expect((await send(claimed.encounter_id, fits)).status).toBe(200);
  });

  it.each([
    ['an empty list of decisions', { decisions: [] }, '#/decisions', 'minItems'],
    ['a visit without its end', { visit: { startedAt: visit.startedAt } }, '#/visit/endedAt', 'required'],
    ['a visit that ends first', { visit: { ...visit, endedAt: '2026-11-20T15:29:59Z' } }, '#/visit/endedAt', 'range'],
    ['notes of more than 5000 characters', { notes: 'x'.repeat(5001) }, '#/notes', 'maxLength'],
  ])('refuses %s, and leaves the encounter unchanged', async (_what, change, pointer, code) => {
    const claimed = await claimedEncounter(harness, partner);
    const answer = await send(claimed.encounter_id, { ...(await reviewBody(harness, partner, claimed)), ...change });
    expectProblem(answer, 400, 'validation_failed', [{ pointer, code }]);
    expect(await stored(claimed)).toEqual(claimed);
  });

  it('answers visit_required to a live review without a visit before it checks the decisions', async () => {
    const claimed = await claimedEncounter(harness, partner, { reviewType: 'synchronous' });
    const { visit: _visit, ...review } = await reviewBody(harness, partner, claimed);
    const [{ categoryId, subcategoryId }] = claimed.gfe_data;
    const json = { ...review, decisions: [{ categoryId, subcategoryId, decision: 'denied' }] };
    expectProblem(await send(claimed.encounter_id, json), 400, 'visit_required', [{ pointer: '#/visit' }]);
    expectProblem(await send(claimed.encounter_id, { ...json, visit }), 400, 'decisions_incomplete');
    expect(await stored(claimed)).toEqual(claimed);
  });

  type Change = (decisions: Record<string, unknown>[]) => unknown[];
  it.each<[string, Change, string[]]>([
    ['an item without a decision', ([first]) => [first], ['']],
    ['an item with two decisions', ([first, last]) => [first, last, { ...first, decision: 'approved' }], ['/2']],
    ['an unknown item', ([first, last]) => [{ ...first, subcategoryId: last?.['subcategoryId'] }, last], ['/0', '']],
    ['a denial without a reason', ([first, last]) => [first, { ...last, decision: 'denied' }], ['/1/reason']],
    [
      'all of these faults at once',
      ([first]) => [{ ...first, decision: 'denied' }, first, { ...first, categoryId: first?.['subcategoryId'] }],
      ['/0/reason', '/1', '/2', ''],
    ],
  ])('refuses %s, and leaves the encounter unchanged', async (_what, change, pointers) => {
    const claimed = await bothClaimed();
    const json = await reviewBody(harness, partner, claimed);
    const decisions = change(json['decisions'] as Record<string, unknown>[]);
    const answer = await send(claimed.encounter_id, { ...json, decisions });
    const faults = pointers.map((pointer) => ({ pointer: `#/decisions${pointer}`, code: 'decisions_incomplete' }));
    expectProblem(answer, 400, 'decisions_incomplete', faults);
    expect(await stored(claimed)).toEqual(claimed);
  });
});

describe('submitReview 403', () => {
  it('refuses a client that is limited to other clinics, before it checks the status of the encounter', async () => {
    const encounter = await newEncounter(harness, partner);
    const limited = await newClient(harness, partner.tenantId, undefined, [await newClinic(harness, partner)]);
    expectProblem(
      await send(encounter.encounter_id, await reviewBody(harness, partner, encounter), limited),
      403,
      'clinic_not_permitted',
    );
  });
});

describe('submitReview 404', () => {
  it("answers encounter_not_found for an unknown encounter and for another tenant's", async () => {
    const claimed = await claimedEncounter(harness, await newPartner(harness));
    for (const id of [claimed.encounter_id, 999_999_999]) {
      expectProblem(await send(id, await reviewBody(harness, partner, claimed)), 404, 'encounter_not_found');
    }
  });
});

describe('submitReview 409', () => {
  it('refuses an unclaimed encounter before it checks the decisions', async () => {
    const encounter = await newEncounter(harness, partner);
    const decisions = [{ categoryId: encounter.id, subcategoryId: encounter.id, decision: 'denied' }];
    const json = { reviewerRef: reviewer, chartVersion: noChartVersion, decisions };
    expectInvalidState(await send(encounter.encounter_id, json), 'pending_review');
  });

  it('refuses every provider except the holder of the claim, whose reference must match exactly', async () => {
    const claimed = await claim(harness, partner, await newEncounter(harness, partner), { reviewerRef: 'Dr A' });
    for (const reviewerRef of ['Dr B', 'dr a', 'Dr A ']) {
      const answer = await send(claimed.encounter_id, {
        ...(await reviewBody(harness, partner, claimed)),
        reviewerRef,
      });
      expectProblem(answer, 409, 'claimed_by_other');
    }
    expect(await stored(claimed)).toEqual(claimed);
  });

  it('refuses a provider whose claim has expired, even if no sweep has run', async () => {
    const claimed = await claimedEncounter(harness, partner);
    harness.clock.advance(3600);
    expectInvalidState(await send(claimed.encounter_id, await reviewBody(harness, partner, claimed)), 'pending_review');
    expect(await stored(claimed)).toEqual(claimed);
  });

  it('refuses a completed, denied or cancelled encounter and leaves it unchanged', async () => {
    for (const over of [
      await reviewed(harness, partner, await newEncounter(harness, partner)),
      await reviewed(harness, partner, await newEncounter(harness, partner), deny),
      await cancelled(harness, partner, await claimedEncounter(harness, partner)),
    ]) {
      const [{ categoryId, subcategoryId }] = over.gfe_data;
      const decisions = [{ categoryId, subcategoryId, decision: 'approved' }];
      const json = { reviewerRef: reviewer, chartVersion: noChartVersion, decisions };
      expectInvalidState(await send(over.encounter_id, json), over.status);
      expect(await stored(over)).toEqual(over);
    }
  });
});

describe('submitReview 500', () => {
  it.each(['order', 'order_line', 'event'])(
    'rolls back the review when writing to the table %s fails',
    async (table) => {
      const claimed = await bothClaimed();
      const json = await reviewBody(harness, partner, claimed);
      const answer = await withoutTable(harness, table, () => send(claimed.encounter_id, json));
      expectProblem(answer, 500, 'internal_error');
      expect(await stored(claimed)).toEqual(claimed);
      expect((await send(claimed.encounter_id, json)).status).toBe(200);
    },
  );
});
