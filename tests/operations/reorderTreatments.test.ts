import { newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { eventsAbout, getOrder, orderEvents } from '../support/orders.js';
import { completedEncounter } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { tenantId, token } = partner;

type Body = Answer['body'];
const ordersOf = async ({ encounter_id }: Body): Promise<string[]> => {
  const { body } = await call(harness, `GET /orders?encounter_id=${encounter_id}`, { token });
  return body.data.map(({ order_no }: Body) => order_no);
};
describe('reorderTreatments 201', () => {
  it("returns a further order at today's price, and emits order.created", async () => {
    const encounter = await completedEncounter(harness, partner);
    const { encounter_id, patientId, treatmentIds } = encounter;
    const [productId] = treatmentIds;
    await harness.domain.db.prisma.productOffer.updateMany({ where: { tenantId, productId }, data: { price: 300 } });
    const sent = { token, json: { treatmentIds }, headers: { 'Idempotency-Key': 'again' } };
    const { status, headers, body } = await call(harness, `POST /encounters/${encounter_id}/reorder`, sent);
    const { order_no } = body;
    expect([status, headers.get('Location')]).toEqual([201, `/orders/${order_no}`]);
    const sums = { sub_total: '300.00', total_shipping_amt: '15.00', grand_total: '315.00', balance_amt: '315.00' };
    const lines = [{ treatmentId: productId, hold: null, fulfilment: { status: 'pending' } }];
    expect(body).toMatchObject({ encounter_id, patientId, order_status: 'pending', ...sums, lines });
    expect((await getOrder(harness, partner, order_no)).body).toEqual(body);
    expect((await getOrder(harness, partner, encounter.order_no)).body.grand_total).toBe('255.00');
    expect((await ordersOf(encounter)).sort()).toEqual([encounter.order_no, order_no].sort());
    const events = await eventsAbout(harness, partner, { order_no }, ...orderEvents);
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      [
        'order.created',
        { order_no, encounter_id, order_status: 'pending', grand_total: '315.00', balance_amt: '315.00' },
      ],
    ]);
    const { body: shown } = await call(harness, `GET /encounters/${encounter_id}`, { token });
    expect(shown.order_no).toBe(encounter.order_no);
  });
});
