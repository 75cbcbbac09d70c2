import { newClient, newPartner } from '../support/factories.js';
import { addPayments } from '../support/fullRecords.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { eventsAbout, getOrder, orderEvents, pay } from '../support/orders.js';
import { expectProblem, withoutTable } from '../support/refusals.js';
import { completedEncounter } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { order_no } = await completedEncounter(harness, partner);

const record = (amount: unknown, orderNo = order_no) => pay(harness, partner, orderNo, { amount });
const orderOf = async (orderNo: string) => (await getOrder(harness, partner, orderNo)).body;
const eventsOf = async (orderNo: string) => {
  const events = await eventsAbout(harness, partner, { order_no: orderNo }, ...orderEvents);
  return events.map(({ type, data }) => [type, data['order_status'], data['grand_total'], data['balance_amt']]);
};

/** An order of 255.00. */
const newOrder = async (): Promise<string> => (await completedEncounter(harness, partner)).order_no;

describe('recordPayment 201', () => {
  it('returns the order with the payment, and as paid when the balance is zero', async () => {
    const orderNo = await newOrder();
    const before = await orderOf(orderNo);
    harness.clock.advance(60);
    const at = harness.clock.now.toISOString();
    const first = await pay(harness, partner, orderNo, { amount: '200.5', reference: 'RCPT-2041' });
    expect(first.status).toBe(201);
    expect(first.headers.get('Idempotent-Replayed')).toBeNull();
    const payment = { id: expect.any(String), amount: '200.50', refunded_amt: '0.00', reference: 'RCPT-2041' };
    const payments = [{ ...payment, createdAt: at }];
    expect(first.body).toEqual({ ...before, paid_amt: '200.50', balance_amt: '54.50', updatedAt: at, payments });
    const last = await record('54.50', orderNo);
    expect(last.body).toMatchObject({ order_status: 'paid', paid_amt: '255.00', balance_amt: '0.00' });
    expect(last.body.payments).toMatchObject([first.body.payments[0], { amount: '54.50', reference: null }]);
    expect(await orderOf(orderNo)).toEqual(last.body);
  });

  it('stores the API client of the payment', async () => {
    const orderNo = await newOrder();
    const { tenantId } = partner;
    const { token, clientId } = await newClient(harness, tenantId, ['write:order']);
    const { body } = await pay(harness, { token }, orderNo, { amount: '1.00' });
    const { id: apiClientId } = await harness.domain.db.prisma.apiClient.findFirstOrThrow({ where: { clientId } });
    const stored = await harness.domain.db.prisma.payment.findMany({ where: { tenantId, id: body.payments[0].id } });
    expect(stored).toMatchObject([{ apiClientId }]);
  });
});

describe('recordPayment 409', () => {
  it('limits an order to 200 payments and refunds, even when requests race', async () => {
    const orderNo = await newOrder();
    await addPayments(harness, partner, orderNo, 196);
    const [payment] = (await record('100.00', orderNo)).body.payments.slice(-1);
    const json = { payment_id: payment.id, amount: '1.00', reason: 'Too much.' };
    const refund = (index: number) => {
      const headers = { 'Idempotency-Key': `refund-${orderNo}-${index}` };
      return call(harness, `POST /orders/${orderNo}/refunds`, { token: partner.token, json, headers });
    };
    const answers = await Promise.all([0, 1, 2].flatMap((index) => [record('1.00', orderNo), refund(index)]));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(3);
    for (const answer of refused) expectProblem(answer, 409, 'too_many_records');
    expect(refused[0]?.body.detail).toContain('200 payments and refunds');
    const { payments, refunds } = await orderOf(orderNo);
    expect([...payments, ...refunds]).toHaveLength(200);
    expectProblem(await refund(3), 409, 'too_many_records');
    expectProblem(await record('1.00', orderNo), 409, 'too_many_records');
  });

  it('never exceeds the total when twenty payments race', async () => {
    const orderNo = await newOrder();
    const answers = await Promise.all(Array.from({ length: 20 }, () => record('20.00', orderNo)));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(8);
    for (const answer of refused) expectProblem(answer, 409, 'payment_exceeds_balance');
    const order = await orderOf(orderNo);
    expect(order).toMatchObject({ order_status: 'pending', paid_amt: '240.00', balance_amt: '15.00' });
    expect(order.payments).toHaveLength(12);
    // Payments are serialized: no two of them report an equal balance.
    const balances = (await eventsOf(orderNo)).map(([, , , balance]) => Number(balance));
    expect(balances).toEqual([255, 235, 215, 195, 175, 155, 135, 115, 95, 75, 55, 35, 15]);
  });
});

describe('recordPayment 500', () => {
  it.each(['payment', 'event'])('rolls back the payment when writing to the table %s fails', async (table) => {
    const answer = await withoutTable(harness, table, () => record('1.00'));
    expectProblem(answer, 500, 'internal_error');
    expect(answer.text).not.toMatch(/relation|prisma/i);
    expect(await orderOf(order_no)).toMatchObject({ paid_amt: '0.00', payments: [] });
  });
});
