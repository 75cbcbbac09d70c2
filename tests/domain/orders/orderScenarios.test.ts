import { announceExpiredApprovals } from '../../../src/domain/sweeps/approvalNotices.js';
import { configureTenant } from '../../../src/domain/access/tenants.js';
import {
  encounterBody,
  newEncounter,
  newPartner,
  newProduct,
  newToken,
  type EncounterBody,
  type Partner,
} from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { eventsAbout, getOrder, orderEvents, pay } from '../../support/orders.js';
import { expectProblem } from '../../support/refusals.js';
import { approve, completedEncounter, deny, reviewed, type Decide, recordOf } from '../../support/reviews.js';

// The scenarios of the domain guide about money and approvals, by their letters.

let harness: Harness;
let partner: Partner;
let body: EncounterBody;
let botox: string;
let semaglutide: string;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  await configureTenant(harness.domain, partner.tenantId, { gfeReuse: true });
  botox = await newProduct(harness, partner, { price: '240.00', shippingAmount: '15.00' });
  const offer = { price: '299.00', shippingType: 'FREE_SHIPPING', shippingAmount: '25.00' } as const;
  semaglutide = await newProduct(harness, partner, { ...offer, isRx: true });
});
afterAll(() => harness.close());

/** A body for a new patient and a new clinic. */
const newBody = async (): Promise<EncounterBody> => ({
  ...(await encounterBody(harness, partner)),
  treatmentIds: [botox, semaglutide],
});
const create = (changes = {}) => newEncounter(harness, partner, { ...body, ...changes });
const onlyFirst: Decide = (item, index) => (index === 0 ? approve : deny)(item, index);
const detailsOf = async ({ encounter_id }: Answer['body']) =>
  (await call(harness, 'POST /encounters/status', { token: partner.token, json: { encounter_id } })).body;
const read = async ({ encounter_id }: Answer['body']) =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body);
const eventTypes = async (encounter: Answer['body'], ...types: Parameters<typeof eventsAbout>[3][]) =>
  (await eventsAbout(harness, partner, { encounter_id: encounter.encounter_id }, ...types)).map(({ type }) => type);

describe('scenario', () => {
  it('B (money): an order of two treatments is paid in instalments and rejects a cent more', async () => {
    body = await newBody();
    const { order_no: orderNo, ...encounter } = await reviewed(harness, partner, await create());
    const shown = async () => (await detailsOf(encounter)).order_details;
    const sums = { sub_total: 539, total_shipping_amt: 15, grand_total: 554 };
    expect(await shown()).toEqual({
      order_no: orderNo,
      order_status: 'pending',
      ...sums,
      paid_amt: 0,
      balance_amt: 554,
      created_date: '2026-11-20 16:00:00',
    });
    await pay(harness, partner, orderNo, { amount: '300.00' });
    expect(await shown()).toMatchObject({ order_status: 'pending', ...sums, paid_amt: 300, balance_amt: 254 });
    expectProblem(await pay(harness, partner, orderNo, { amount: '254.01' }), 409, 'payment_exceeds_balance');
    await pay(harness, partner, orderNo, { amount: '254.00' });
    expect(await shown()).toMatchObject({ order_status: 'paid', ...sums, paid_amt: 554, balance_amt: 0 });
    expect(await eventTypes(encounter, ...orderEvents)).toEqual(['order.created', 'order.updated', 'order.paid']);
  });

  it('C (part denial): only approved treatments are ordered, and a full denial creates no order', async () => {
    body = await newBody();
    const part = await reviewed(harness, partner, await create(), onlyFirst);
    expect(part).toMatchObject({ status: 'completed', gfe_data: [{ status: 'approved' }, { status: 'denied' }] });
    const { body: order } = await getOrder(harness, partner, part.order_no);
    expect(order).toMatchObject({ sub_total: '240.00', total_shipping_amt: '15.00', grand_total: '255.00' });
    expect(order.lines.map(({ treatmentId }: { treatmentId: string }) => treatmentId)).toEqual([botox]);

    const none = await reviewed(harness, partner, await create({ additionalNotes: 'New medication' }), deny);
    expect(none).toMatchObject({ status: 'denied', order_no: null });
    expect(await detailsOf(none)).not.toHaveProperty('order_details');
    expect(await eventTypes(none, ...orderEvents)).toEqual([]);
  });

  it('D (free): the order is created as paid', async () => {
    const free = await newProduct(harness, partner, { price: '0.00', shippingType: 'FREE_SHIPPING' });
    const { order_no: orderNo, ...encounter } = await completedEncounter(harness, partner, { treatmentIds: [free] });
    const amounts = { grand_total: '0.00', paid_amt: '0.00', balance_amt: '0.00' };
    const { body: order } = await getOrder(harness, partner, orderNo);
    expect(order).toMatchObject({ order_status: 'paid', ...amounts, payments: [] });
    expect(await eventTypes(encounter, ...orderEvents)).toEqual(['order.created', 'order.paid']);
  });

  it('E (reuse): an approval is reused for a year, except with additional notes or for a prescription', async () => {
    body = await newBody();
    const first = await reviewed(harness, partner, await create(), onlyFirst);
    await pass(new Date('2026-12-20T16:00:00.000Z'));
    const again = await create({ treatmentIds: [botox] });
    expect(again).toMatchObject({
      status: 'completed',
      gfe_data: [{ status: 'approved', reusedFromEncounterId: first.id }],
    });
    expect((await getOrder(harness, partner, again.order_no)).body.grand_total).toBe('255.00');
    for (const changes of [
      { treatmentIds: [botox], additionalNotes: 'new medication' },
      { treatmentIds: [semaglutide] },
    ]) {
      expect(await create(changes)).toMatchObject({ status: 'pending_review', order_no: null });
    }

    await pass(new Date('2027-11-20T16:00:00.000Z'));
    for (const sweep of [1, 2]) {
      await announceExpiredApprovals(harness.domain);
      expect([sweep, await eventTypes(first, 'gfe.expired')]).toEqual([sweep, ['gfe.expired']]);
    }
    for (const encounter of [first, again]) {
      expect((await read(encounter)).gfe_data[0].status).toBe('expired');
      expect((await detailsOf(encounter)).gfe_data[0].status).toBe('expired');
    }
    expect(await create({ treatmentIds: [botox] })).toMatchObject({ status: 'pending_review' });
  });
});

/** Moves the clock and renews the token, which expires meanwhile. */
async function pass(until: Date): Promise<void> {
  harness.clock.now = until;
  partner = { ...partner, token: await newToken(harness, partner) };
}
