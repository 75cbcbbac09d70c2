import { Prisma } from '../../../generated/prisma/client.js';
import { erasePatient } from '../../../src/domain/sweeps/erase.js';
import { inTransaction } from '../../../src/domain/transactions/transaction.js';
import { newPartner, shipTo } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { whileBlocked } from '../../support/lockWaits.js';
import { eventsAbout, pay } from '../../support/orders.js';
import { expectProblem } from '../../support/refusals.js';
import { completedEncounter } from '../../support/reviews.js';
import { fulfil, putShipTo } from '../../support/shipments.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { prisma } = harness.domain.db;

const other = { ...shipTo, name: 'Sam Miller', address1: '1 Main Street' };
const dispensing = (orderNo: string): Promise<Answer> =>
  call(harness, `GET /orders/${orderNo}/dispensing`, { token: partner.token });
const addressOf = async (orderNo: string): Promise<unknown> => (await dispensing(orderNo)).body.shipTo;

const orderRow = (order_no: string): Prisma.Sql =>
  Prisma.sql`SELECT FROM "order" WHERE tenant_id = ${partner.tenantId} AND order_no = ${order_no} FOR NO KEY UPDATE`;

it('setShipTo refuses another address if the order ships before the request gets its lock', async () => {
  const { order_no } = await completedEncounter(harness, partner);
  const replaced = await whileBlocked(
    harness,
    orderRow(order_no),
    () => putShipTo(harness, partner, order_no, other),
    (holder) => holder.$executeRaw`
      UPDATE order_line SET status = 'shipped', shipped_at = now() WHERE tenant_id = ${partner.tenantId}
        AND order_id = (SELECT id FROM "order" WHERE tenant_id = ${partner.tenantId} AND order_no = ${order_no})`,
  );
  expectProblem(replaced, 409, 'invalid_state');
  expect(await addressOf(order_no)).toEqual(shipTo);
});

it('the erasure of a patient also erases a shipping address that is set while it waits for the order', async () => {
  const { tenantId } = partner;
  const { order_no, patientId } = await completedEncounter(harness, partner, { shipTo: null });
  await pay(harness, partner, order_no, { amount: '255.00' });
  await whileBlocked(
    harness,
    orderRow(order_no),
    () =>
      inTransaction(harness.domain, (transaction) =>
        erasePatient(transaction, tenantId, patientId, { beforeRetention: true }),
      ),
    (holder) => holder.$executeRaw`
      UPDATE "order" SET ship_to = ${JSON.stringify(other)}::jsonb WHERE tenant_id = ${tenantId} AND order_no = ${order_no}`,
  );
  expect(await prisma.order.findMany({ where: { tenantId, orderNo: order_no } })).toMatchObject([{ shipTo: null }]);
});

it('the address of an order appears neither in events nor in the log', async () => {
  const marked = { ...shipTo, name: 'zqa', address1: 'zqa', address2: 'zqa', city: 'zqa', postal: 'zqa' };
  const { order_no, encounter_id } = await completedEncounter(harness, partner, { shipTo: marked });
  await putShipTo(harness, partner, order_no, { ...marked, state: 'zqa' });
  await putShipTo(harness, partner, order_no, { ...marked, phone: '+15125550142' });
  await fulfil(harness, partner, order_no, 'accepted', 'shipped');
  await putShipTo(harness, partner, order_no, marked);
  const events = await eventsAbout(harness, partner, { encounter_id });
  expect(events.length).toBeGreaterThan(3);
  expect(JSON.stringify([events, harness.logged])).not.toContain('zqa');
  expect(await addressOf(order_no)).toMatchObject({ city: 'zqa' });
});
