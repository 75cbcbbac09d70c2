import { newClient, newEncounter, newPartner, newProduct } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { pay } from '../support/orders.js';
import { expectProblem } from '../support/refusals.js';
import { completedEncounter } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const free = { shippingType: 'FREE_SHIPPING', shippingAmount: '25.00' } as const;
const treatmentIds = [
  await newProduct(harness, partner, { price: '240.00', shippingAmount: '15.00' }),
  await newProduct(harness, partner, { price: '299.00', ...free }),
];
/** Its order of two treatments is partly paid. */
const ordered = await completedEncounter(harness, partner, { treatmentIds });
const orderNo: string = ordered.order_no;
await pay(harness, partner, orderNo, { amount: '300.00' });
/** Has no order. */
const plain = await newEncounter(harness, partner);

const ask = (json: unknown, options: CallOptions = { token: partner.token }) =>
  call(harness, 'POST /encounters/status', { ...options, json });

describe('getEncounterStatus 200', () => {
  it('returns the time of the order in UTC, without fractions', async () => {
    const { order_no, encounter_id } = await completedEncounter(harness, partner);
    await harness.domain.db.prisma.order.updateMany({
      where: { tenantId: partner.tenantId, orderNo: order_no },
      data: { createdAt: '2027-07-01T00:05:09.999+02:00' },
    });
    expect((await ask({ encounter_id })).body.order_details.created_date).toBe('2027-06-30 22:05:09');
  });

  it('finds the encounter by any identifier in either case, and by several that agree (R-245)', async () => {
    const { encounter_id, gfe_no } = ordered;
    const expected = (await ask({ encounter_id })).body;
    for (const json of [
      { gfe_no },
      { gfe_no: gfe_no.toLowerCase() },
      { order_no: orderNo },
      { order_no: orderNo.toLowerCase() },
      { encounter_id, gfe_no },
      { encounter_id, order_no: orderNo },
      { gfe_no, order_no: orderNo },
      { encounter_id, gfe_no, order_no: orderNo },
    ]) {
      expect((await ask(json)).body).toEqual(expected);
    }
  });
});

describe('getEncounterStatus 400', () => {
  it('answers identifier_mismatch with one text for identifiers of two encounters, whether both exist or not (R-245)', async () => {
    const foreign = await newEncounter(harness, await newPartner(harness));
    const { encounter_id } = ordered;
    const answers: Answer[] = [];
    for (const json of [
      { encounter_id, gfe_no: plain.gfe_no },
      { encounter_id: plain.encounter_id, order_no: orderNo },
      { encounter_id, gfe_no: plain.gfe_no, order_no: orderNo },
      { encounter_id, gfe_no: 'GFE-999999999' },
      { encounter_id: 999_999_999, gfe_no: ordered.gfe_no },
      { encounter_id, order_no: 'ORD-999999' },
      { encounter_id, gfe_no: foreign.gfe_no },
    ]) {
      answers.push(await ask(json, { token: partner.token, headers: { 'X-Request-Id': ordered.id } }));
    }
    for (const answer of answers) expectProblem(answer, 400, 'identifier_mismatch');
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });
});

describe('getEncounterStatus 404', () => {
  it("answers encounter_not_found for unknown numbers and another tenant's, also to a limited client (R-02)", async () => {
    const foreign = await completedEncounter(harness, await newPartner(harness));
    const { encounter_id, gfe_no, order_no } = foreign;
    const limited = await newClient(harness, partner.tenantId, undefined, [plain.clinicId]);
    for (const { token } of [partner, limited]) {
      for (const json of [
        { encounter_id, gfe_no, order_no },
        { order_no },
        { encounter_id: Number.MAX_SAFE_INTEGER },
        { gfe_no: 'GFE-999999999999999999' },
        { gfe_no: 'GFE-0100001' },
        { gfe_no: orderNo },
      ]) {
        expectProblem(await ask(json, { token }), 404, 'encounter_not_found');
      }
    }
  });
});
