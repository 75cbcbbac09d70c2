import { newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { eventsAbout, getOrder, pay } from '../support/orders.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

describe('cancelOrder 200', () => {
  it('cancels the order and its lines, emits one order.cancelled, and refuses later payments', async () => {
    const { order_no } = await completedEncounter(harness, partner);
    const { body: before } = await getOrder(harness, partner, order_no);
    const reason = 'The patient moved.';
    const target = `POST /orders/${order_no.toLowerCase()}/cancel`;
    const { status, body } = await call(harness, target, { token: partner.token, json: { reason } });
    const updatedAt = harness.clock.now.toISOString();
    expect([status, body]).toEqual([
      200,
      {
        ...before,
        ...{ order_status: 'cancelled', cancelReason: reason, balance_amt: '0.00', updatedAt },
        lines: before.lines.map((line: Answer['body']) => {
          return { ...line, fulfilment: { ...line.fulfilment, status: 'cancelled', updatedAt } };
        }),
      },
    ]);
    const events = await eventsAbout(harness, partner, { order_no }, 'order.cancelled');
    expect(events.map(({ data }) => data['order_status'])).toEqual(['cancelled']);
    expectProblem(await pay(harness, partner, order_no, { amount: '1.00' }), 409, 'invalid_state');
  });
});
