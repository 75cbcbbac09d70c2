import { newPartner, shipTo } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer, type Caller } from '../support/http.js';
import { completedEncounter } from '../support/reviews.js';
import { putShipTo } from '../support/shipments.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { tenantId } = partner;
let order_no: string;
let patientId: string;
beforeEach(async () => {
  ({ order_no, patientId } = await completedEncounter(harness, partner));
});

const other = { ...shipTo, name: 'Sam Miller', address1: '1 Main Street', postal: '78702' };
const { address2: _floor, phone: _number, ...short } = other;
const put = (json: unknown = other, caller: Caller = partner): Promise<Answer> =>
  putShipTo(harness, caller, order_no, json);
const addressOf = async (): Promise<unknown> =>
  (await call(harness, `GET /orders/${order_no}/dispensing`, { token: partner.token })).body.shipTo;

describe('setShipTo 200', () => {
  it('replaces the whole address, which getDispensing then shows', async () => {
    expect(await addressOf()).toEqual(shipTo);
    const { status, body } = await put();
    expect([status, body, await addressOf()]).toEqual([200, other, other]);
    const shorter = { ...short, address2: null, phone: null };
    for (const json of [short, shorter]) {
      expect([(await put(json)).body, await addressOf()]).toEqual([shorter, shorter]);
    }
    order_no = order_no.toLowerCase();
    expect((await put()).status).toBe(200);
  });

  it('is audited as a change to the order that concerns the patient', async () => {
    await put();
    const where = { tenantId, operationId: 'setShipTo', resourceId: order_no };
    const rows = await harness.domain.db.prisma.auditEvent.findMany({ where });
    expect(rows).toMatchObject([{ resourceType: 'order', patientIds: [patientId], status: 200, outcome: 'success' }]);
  });
});
