import { newClient, newClinic, newPartner, newProduct, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { getOrder, pay } from '../support/orders.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter } from '../support/reviews.js';

let harness: Harness;
let partner: Partner;
let encounter: Answer['body'];
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  encounter = await completedEncounter(harness, partner);
});
afterAll(() => harness.close());

const get = (orderNo: string, token: string | undefined = partner.token) => getOrder(harness, { token }, orderNo);

describe('200', () => {
  it('returns the order with its payments and the lines as of the creation of the encounter', async () => {
    const { db } = harness.domain;
    const { tenantId } = partner;
    const botox = await newProduct(harness, partner, {
      name: 'Botox',
      sku: 'BTX',
      price: '240.00',
      shippingAmount: '15.00',
    });
    const semaglutide = await newProduct(harness, partner, {
      name: 'Semaglutide',
      sku: 'SEMA',
      price: '299.00',
      shippingType: 'FREE_SHIPPING',
      shippingAmount: '25.00',
    });
    const treatmentIds = [botox, semaglutide];
    const completed = await completedEncounter(harness, partner, { treatmentIds });
    const { status, headers, body } = await get(completed.order_no);
    const products = await db.prisma.product.findMany({ where: { tenantId, id: { in: treatmentIds } } });
    const pharmacyId = (id: string) => products.find((product) => product.id === id)?.pharmacyId;
    const [at, pharmacyName] = ['2026-11-20T16:00:00.000Z', 'Lone Star Pharmacy'];
    expect(status).toBe(200);
    expect(headers.get('Cache-Control')).toBe('no-store');
    const nothing = { carrier: null, trackingNumber: null, reason: null };
    const fulfilment = { status: 'pending', ...nothing, updatedAt: at };
    expect(body).toEqual({
      id: expect.any(String),
      order_no: completed.order_no,
      encounter_id: completed.encounter_id,
      order_status: 'pending',
      currency: 'USD',
      sub_total: '539.00',
      total_shipping_amt: '15.00',
      grand_total: '554.00',
      paid_amt: '0.00',
      balance_amt: '554.00',
      created_date: '2026-11-20 16:00:00',
      createdAt: at,
      updatedAt: at,
      cancelReason: null,
      lines: [
        {
          treatmentId: botox,
          sku: 'BTX',
          name: 'Botox',
          quantity: 1,
          unit_price: '240.00',
          shippingType: 'FLAT_RATE',
          shipping_amt: '15.00',
          line_total: '255.00',
          pharmacyId: pharmacyId(botox),
          pharmacyName,
          fulfilment,
        },
        {
          treatmentId: semaglutide,
          sku: 'SEMA',
          name: 'Semaglutide',
          quantity: 1,
          unit_price: '299.00',
          shippingType: 'FREE_SHIPPING',
          shipping_amt: '0.00',
          line_total: '299.00',
          pharmacyId: pharmacyId(semaglutide),
          pharmacyName,
          fulfilment,
        },
      ],
      payments: [],
      refunds: [],
    });
    expect(body.order_no).toMatch(/^ORD-\d{6,}$/);

    await db.prisma.product.updateMany({ where: { tenantId, id: botox }, data: { name: 'Other', sku: 'OTHER' } });
    await db.prisma.productOffer.updateMany({ where: { tenantId, productId: botox }, data: { price: '1.00' } });
    const first = await pay(harness, partner, completed.order_no, { amount: '0.5', reference: 'RCPT-1' });
    await pay(harness, partner, completed.order_no, { amount: '100' });
    const { payments, ...paid } = (await get(completed.order_no)).body;
    expect(paid).toEqual({ ...body, payments: undefined, paid_amt: '100.50', balance_amt: '453.50' });
    expect(payments).toMatchObject([
      { amount: '0.50', reference: 'RCPT-1' },
      { amount: '100.00', reference: null },
    ]);
    expect(payments[0]).toEqual(first.body.payments[0]);
  });

  it('accepts the number in either case', async () => {
    const { body } = await get(encounter.order_no.toLowerCase());
    expect(body).toMatchObject({ order_no: encounter.order_no, encounter_id: encounter.encounter_id });
  });

  it('serves a client that is limited to this clinic', async () => {
    const { token } = await newClient(harness, partner.tenantId, ['read:order'], [encounter.clinicId]);
    expect((await get(encounter.order_no, token)).body.order_no).toBe(encounter.order_no);
  });
});

describe('400', () => {
  it.each(['100045', 'ORD100045', 'ORD-', 'ORD-1x', '-1', 'ORD-1234567890123456789', 'ORDERNUMBERS-1'])(
    'refuses the malformed order number %s',
    async (orderNo) => {
      expectProblem(await get(orderNo), 400, 'validation_failed', [{ parameter: 'order_no', code: 'pattern' }]);
    },
  );

  it('refuses an unknown query parameter', async () => {
    const answer = await call(harness, `GET /orders/${encounter.order_no}?lines=no`, { token: partner.token });
    expectProblem(answer, 400, 'validation_failed', [{ parameter: 'lines' }]);
  });
});

describe('403', () => {
  it('refuses a client that is limited to other clinics', async () => {
    const { token } = await newClient(harness, partner.tenantId, undefined, [await newClinic(harness, partner)]);
    const answer = await get(encounter.order_no, token);
    expectProblem(answer, 403, 'clinic_not_permitted');
    expect(answer.text).not.toContain('grand_total');
  });
});

describe('404', () => {
  it("answers alike for another tenant's order and an unknown number", async () => {
    const other = await newPartner(harness);
    const { order_no } = await completedEncounter(harness, other);
    const ask = (orderNo: string, token: string) =>
      call(harness, `GET /orders/${orderNo}`, {
        token,
        headers: { 'X-Request-Id': '01a10caf-a4c0-7000-8000-0000000000aa' },
      });
    const unknown = await ask('ORD-999999', partner.token);
    expectProblem(unknown, 404, 'order_not_found');
    expect((await ask(order_no, partner.token)).text).toBe(unknown.text);
    const limited = await newClient(harness, partner.tenantId, undefined, [await newClinic(harness, partner)]);
    expect((await ask(order_no, limited.token)).text).toBe(unknown.text);
    expect((await ask(order_no, other.token)).status).toBe(200);
  });

  it("answers order_not_found for an encounter's number", async () => {
    expectProblem(await get(encounter.gfe_no), 404, 'order_not_found');
  });
});
