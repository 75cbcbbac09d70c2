import { newPartner, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { eventsAbout, getOrder, orderEvents, pay } from '../support/orders.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
let count = 0;

type Body = Answer['body'];
const refund = (orderNo: string, json: unknown, { token }: Pick<Partner, 'token'> = partner): Promise<Answer> => {
  const headers = { 'Idempotency-Key': `refund-${(count += 1)}` };
  return call(harness, `POST /orders/${orderNo}/refunds`, { token, json, headers });
};
const orderOf = async (orderNo: string): Promise<Body> => (await getOrder(harness, partner, orderNo)).body;
/** An order of 255.00, and the ids of its payments. */
async function paidOrder(...amounts: string[]): Promise<{ orderNo: string; payments: string[] }> {
  const { order_no: orderNo } = await completedEncounter(harness, partner);
  for (const amount of amounts) await pay(harness, partner, orderNo, { amount });
  return { orderNo, payments: (await orderOf(orderNo)).payments.map(({ id }: Body) => id) };
}
const reason = 'A discount that was forgotten.';

describe('refundPayment 201', () => {
  it('returns the order with the refund: still paid after a part, refunded after the whole, with nothing left to pay', async () => {
    const { orderNo, payments } = await paidOrder('200.00', '55.00');
    const [first, second] = payments;
    const before = await orderOf(orderNo);
    harness.clock.advance(60);
    const at = harness.clock.now.toISOString();
    const { status, body } = await refund(orderNo, { payment_id: first?.toUpperCase(), amount: '199.99', reason });
    const change = { paid_amt: '55.01', refunded_amt: '199.99', updatedAt: at };
    const paid = [{ ...before.payments[0], refunded_amt: '199.99' }, before.payments[1]];
    const refunds = [{ id: expect.any(String), payment_id: first, amount: '199.99', reason, createdAt: at }];
    expect([status, body]).toEqual([201, { ...before, ...change, payments: paid, refunds }]);
    expect(await orderOf(orderNo)).toEqual(body);
    await refund(orderNo, { payment_id: second, amount: '55', reason });
    const last = await refund(orderNo, { payment_id: first, amount: '0.01', reason });
    expect(last.body).toMatchObject({ order_status: 'refunded', paid_amt: '0.00', balance_amt: '0.00' });
    expect(last.body.refunds).toHaveLength(3);
    const events = await eventsAbout(harness, partner, { order_no: orderNo }, ...orderEvents, 'order.refunded');
    expect(events.slice(-3).map(({ type, data }) => [type, data['order_status'], data['balance_amt']])).toEqual([
      ['order.refunded', 'paid', '0.00'],
      ['order.refunded', 'paid', '0.00'],
      ['order.refunded', 'refunded', '0.00'],
    ]);
    expect((await pay(harness, partner, orderNo, { amount: '1.00' })).status).toBe(409);
    expect((await refund(orderNo, { payment_id: first, amount: '0.01', reason })).status).toBe(409);
  });
});

describe('refundPayment 409', () => {
  it('refuses an amount above the remainder of the payment', async () => {
    const { orderNo, payments } = await paidOrder('100.00', '155.00');
    const [payment_id] = payments;
    await refund(orderNo, { payment_id, amount: '90.00', reason });
    const more = { payment_id, amount: '10.01', reason };
    expectProblem(await refund(orderNo, more), 409, 'refund_exceeds_payment', [{ pointer: '#/amount' }]);
  });
});
