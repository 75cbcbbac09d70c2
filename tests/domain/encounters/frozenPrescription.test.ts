import { configureTenant } from '../../../src/domain/access/tenants.js';
import { newEncounter, newPartner, newProduct, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { getOrder, pay } from '../../support/orders.js';
import { claim, reviewer, reviewed } from '../../support/reviews.js';

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
});
afterAll(() => harness.close());

const weekly = { drugStrength: '2.5 mg/mL', directions: 'Inject 2.5 mg once a week.', rxQty: 1, refills: 0 };
const daily = { drugStrength: '25 mg/mL', directions: 'Inject 25 mg once a day.', rxQty: 30, refills: 5 };

/** A prescription product, and a function that changes its prescription as an import does. */
async function prescribed() {
  const productId = await newProduct(harness, partner, { isRx: true });
  const { productRx } = harness.domain.db.prisma;
  const where = { tenantId_productId: { tenantId: partner.tenantId, productId } };
  await productRx.update({ where, data: weekly });
  return {
    productId,
    change: () => productRx.update({ where, data: daily }),
    remove: () => productRx.delete({ where }),
  };
}

it('getChart shows the prescription as of the creation of the encounter after the catalog has changed', async () => {
  const { productId, change } = await prescribed();
  const encounter = await newEncounter(harness, partner, { treatmentIds: [productId] });
  await change();
  await claim(harness, partner, encounter);
  const path = `GET /encounters/${encounter.encounter_id}/chart?reviewerRef=${reviewer}`;
  const { body } = await call(harness, path, { token: partner.token });
  expect(body.treatments).toMatchObject([{ rx: { ...weekly, daysSupply: 30 } }]);
  expect(body.treatments[0].rx.deaScheduleId).toEqual(expect.any(String));
});

it('recordFulfilment still requires payment for a prescription that was removed from the catalog', async () => {
  const { productId, remove } = await prescribed();
  const encounter = await newEncounter(harness, partner, { treatmentIds: [productId] });
  const { order_no } = await reviewed(harness, partner, encounter);
  await remove();
  const { body: order } = await getOrder(harness, partner, order_no);
  const json = { pharmacyId: order.lines[0].pharmacyId, status: 'accepted' };
  const accept = () => call(harness, `POST /orders/${order_no}/fulfilments`, { token: partner.token, json });
  const refused = await accept();
  expect([refused.status, refused.body.code]).toEqual([409, 'invalid_state']);
  await pay(harness, partner, order_no, { amount: order.balance_amt });
  expect((await accept()).status).toBe(200);
});

it('an order has the currency of the estimate even after the tenant has changed its currency', async () => {
  const before = await newEncounter(harness, partner);
  expect(before.estimate.currency).toBe('USD');
  await configureTenant(harness.domain, partner.tenantId, { currency: 'JPY' });
  expect((await newEncounter(harness, partner)).estimate.currency).toBe('JPY');
  const { order_no } = await reviewed(harness, partner, before);
  expect((await getOrder(harness, partner, order_no)).body.currency).toBe('USD');
});
