import { changeApiClient } from '../../src/domain/access/apiClients.js';
import { newPartner, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { eventsAbout, getOrder } from '../support/orders.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter, orderOfTwo } from '../support/reviews.js';
import { newPharmacyClient } from '../support/tokens.js';

const harness = await openHarness();
const partner = await newPartner(harness);
let order_no: string;
let pharmacyId: string;
beforeEach(async () => {
  ({ order_no } = await completedEncounter(harness, partner));
  [{ pharmacyId }] = (await orderOf()).lines;
});

type Body = Answer['body'];
type Token = Pick<Partner, 'token'>;
const record = (status: string, more: object = {}, { token }: Token = partner): Promise<Answer> =>
  call(harness, `POST /orders/${order_no}/fulfilments`, { token, json: { pharmacyId, status, ...more } });
const orderOf = async (owner: Token = partner): Promise<Body> => (await getOrder(harness, owner, order_no)).body;

describe('recordFulfilment 200', () => {
  it('updates the lines of the pharmacy, and emits order.fulfilment_updated for each step', async () => {
    const before = await orderOf();
    expect(before.lines[0].fulfilment).toMatchObject({ status: 'pending', carrier: null, trackingNumber: null });
    await record('accepted');
    harness.clock.advance(60);
    const sent = { carrier: 'UPS', trackingNumber: '1Z999' };
    const { status, body } = await record('shipped', sent);
    const updatedAt = harness.clock.now.toISOString();
    expect([status, body.lines[0].fulfilment]).toEqual([200, { status: 'shipped', ...sent, reason: null, updatedAt }]);
    expect(body).toEqual({ ...before, lines: body.lines, updatedAt });
    expect((await record('delivered')).body.lines[0].fulfilment).toMatchObject({ status: 'delivered', ...sent });
    const events = await eventsAbout(harness, partner, { order_no }, 'order.fulfilment_updated');
    const treatmentIds = [before.lines[0].treatmentId];
    const about = { order_no, encounter_id: before.encounter_id, pharmacyId, treatmentIds };
    const details = { shipped: sent, accepted: {}, delivered: {} };
    const steps = (['accepted', 'shipped', 'delivered'] as const).map((step) => ({
      ...about,
      ...details[step],
      fulfilment_status: step,
    }));
    expect(events.map(({ data }) => data)).toEqual(steps);
  });

  it('updates only the lines of one pharmacy, and shows a client limited to that pharmacy no others', async () => {
    ({ order_no } = await orderOfTwo(harness, partner, 1));
    const [first, other] = (await orderOf()).lines.map((line: Body) => line.pharmacyId);
    pharmacyId = first;
    const client = await newPharmacyClient(harness, partner, first);
    expect((await record('accepted', {}, client)).body.lines.map((line: Body) => line.pharmacyId)).toEqual([first]);
    expect((await orderOf(client)).lines).toHaveLength(1);
    const statuses = (await orderOf()).lines.map((line: Body) => line.fulfilment.status);
    expect(statuses).toEqual(['accepted', 'pending']);
    expectProblem(await record('accepted', { pharmacyId: other }, client), 404, 'order_not_found');
    const list = await call(harness, 'GET /orders', { token: client.token });
    expect(list.body.data.map(({ order_no: number, lines }: Body) => [number, lines.length])).toEqual([[order_no, 1]]);
    await changeApiClient(harness.domain, client.clientId, { pharmacies: null });
    harness.clock.advance(31);
    expect((await orderOf(client)).lines).toHaveLength(2);
  });
});

describe('recordFulfilment 409', () => {
  it('answers facts_changed with what changed since the approval, unless acknowledgeChanges is true', async () => {
    const { patientId } = await orderOf();
    const json = { medicalHistory: 'Penicillin allergy.' };
    await call(harness, `PATCH /clients/${patientId}`, { token: partner.token, json });
    expect((await orderOf()).changedSinceApproval).toEqual(['medicalHistory']);
    for (const more of [{}, { acknowledgeChanges: false }]) {
      const refused = await record('accepted', more);
      expectProblem(refused, 409, 'facts_changed');
      expect(refused.body.changed).toEqual(['medicalHistory']);
    }
    expect((await orderOf()).lines[0].fulfilment.status).toBe('pending');
    for (const status of ['accepted', 'shipped']) {
      expect((await record(status, { acknowledgeChanges: true })).status).toBe(200);
    }
  });
});
