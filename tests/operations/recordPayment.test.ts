import { newClient, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { eventsAbout, getOrder, orderEvents, pay } from '../support/orders.js';
import { completedEncounter } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const record = (amount: string, orderNo: string) => pay(harness, partner, orderNo, { amount });
const orderOf = async (orderNo: string) => (await getOrder(harness, partner, orderNo)).body;

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
    const events = await eventsAbout(harness, partner, { order_no: orderNo }, ...orderEvents);
    expect(events.map(({ type, data }) => [type, data['balance_amt']])).toEqual([
      ['order.created', '255.00'],
      ['order.updated', '54.50'],
      ['order.paid', '0.00'],
    ]);
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
