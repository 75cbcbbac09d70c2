import { newPartner, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { eventsAbout, getOrder, pay } from '../support/orders.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
let order_no: string;
beforeEach(async () => {
  ({ order_no } = await completedEncounter(harness, partner));
});

const json = { reason: 'The patient moved.' };
const cancel = (orderNo = order_no, { token }: Pick<Partner, 'token'> = partner, body: unknown = json) =>
  call(harness, `POST /orders/${orderNo}/cancel`, { token, json: body });
const orderOf = async (): Promise<Answer['body']> => (await getOrder(harness, partner, order_no)).body;

describe('cancelOrder 200', () => {
  it('cancels the order with one event, and refuses later payments', async () => {
    const before = await orderOf();
    const { status, body } = await cancel(order_no.toLowerCase());
    const updatedAt = harness.clock.now.toISOString();
    expect([status, body]).toEqual([
      200,
      {
        ...before,
        ...{ order_status: 'cancelled', cancelReason: json.reason, balance_amt: '0.00', updatedAt },
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
