import { newPartner, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { claimedEncounter, deny, eventsOf, reviewBody, type Decide, recordOf } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
/** A treatment with another category than {@link semaglutide}. */
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
  it('completes the encounter with an order number, and emits encounter.completed', async () => {
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
});
