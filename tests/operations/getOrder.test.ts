import { newClient, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { getOrder, pay } from '../support/orders.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const encounter = await completedEncounter(harness, partner);

const get = (orderNo: string, token: string | undefined = partner.token) => getOrder(harness, { token }, orderNo);

describe('getOrder 200', () => {
  // The examples of the contract have every property of an order (tests/contract/examples).
  it('returns the order with its payments, and lines that later changes of the product do not affect', async () => {
    const { prisma } = harness.domain.db;
    const { tenantId } = partner;
    const { order_no, encounter_id, treatmentIds } = await completedEncounter(harness, partner);
    const { status, headers, body } = await get(order_no);
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(body).toMatchObject({ order_no, encounter_id, grand_total: '255.00', payments: [] });
    const [productId] = treatmentIds;
    await prisma.product.updateMany({ where: { tenantId, id: productId }, data: { name: 'Other', sku: 'OTHER' } });
    await prisma.productOffer.updateMany({ where: { tenantId, productId }, data: { price: '1.00' } });
    const first = await pay(harness, partner, order_no, { amount: '0.5', reference: 'RCPT-1' });
    await pay(harness, partner, order_no, { amount: '100' });
    const { payments, ...paid } = (await get(order_no)).body;
    expect(paid).toEqual({ ...body, payments: undefined, paid_amt: '100.50', balance_amt: '154.50' });
    expect(payments).toMatchObject([
      { amount: '0.50', reference: 'RCPT-1' },
      { amount: '100.00', reference: null },
    ]);
    expect(payments[0]).toEqual(first.body.payments[0]);
  });

  it('accepts the order number in either letter case, and serves a client that is limited to the clinic of the order', async () => {
    const { clinicId, order_no, encounter_id } = encounter;
    const { token } = await newClient(harness, partner.tenantId, ['read:order'], [clinicId]);
    expect((await get(order_no.toLowerCase(), token)).body).toMatchObject({ order_no, encounter_id });
  });
});

describe('getOrder 404', () => {
  it("answers order_not_found for an encounter's number", async () => {
    expectProblem(await get(encounter.gfe_no), 404, 'order_not_found');
  });
});
