import { randomUUID } from 'node:crypto';
import {
  newCategory,
  newEncounter,
  newPartner,
  newPatient,
  newProduct,
  type Partner,
} from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { getOrder } from '../../support/orders.js';
import { claim, reviewBody, reviewed, reviewer } from '../../support/reviews.js';

let harness: Harness;
let partner: Partner;
let [kept, declined]: string[] = [];
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  const group = await newCategory(harness, partner);
  [kept, declined] = [await newProduct(harness, partner, group), await newProduct(harness, partner, group)];
});
afterAll(() => harness.close());

const except = { decision: 'approved', exceptTreatmentIds: [] as unknown[], rationale: 'The lower dose comes first.' };
const both = () => ({ treatmentIds: [kept, declined] });

/** A review of a new encounter with both treatments. */
async function review(decision: object) {
  const encounter = await claim(harness, partner, await newEncounter(harness, partner, both()));
  const decisions = encounter.gfe_data.map(({ categoryId, subcategoryId }: Record<string, string>) => {
    return { categoryId, subcategoryId, ...decision };
  });
  const json = { ...(await reviewBody(harness, partner, encounter)), decisions };
  return call(harness, `POST /encounters/${encounter.encounter_id}/review`, { token: partner.token, json });
}

it('submitReview orders the treatments that the approval does not except, and shows the others to the partner', async () => {
  const { status, body } = await review({ ...except, exceptTreatmentIds: [declined] });
  expect([status, body.status]).toEqual([200, 'completed']);
  expect(body.gfe_data).toMatchObject([{ treatmentIds: [kept, declined], declinedTreatmentIds: [declined] }]);
  const { body: order } = await getOrder(harness, partner, body.order_no);
  expect(order.lines).toMatchObject([{ treatmentId: kept }]);
  expect(order.grand_total).toBe(order.lines[0].line_total);
  const { body: retrieved } = await call(harness, `GET /encounters/${body.encounter_id}`, { token: partner.token });
  expect([body, retrieved].map(({ gfe_data }) => gfe_data[0].rationale)).toEqual([except.rationale, except.rationale]);
  expect(JSON.stringify(order)).not.toContain(except.rationale);
});

it.each([
  ['a treatment of no item', () => ({ exceptTreatmentIds: [randomUUID()] }), '/exceptTreatmentIds/0'],
  ['a treatment twice', () => ({ exceptTreatmentIds: [kept, kept?.toUpperCase()] }), '/exceptTreatmentIds/1'],
  ['every treatment', () => ({ exceptTreatmentIds: [kept, declined] }), '/exceptTreatmentIds'],
  [
    'treatments of a denial',
    () => ({ decision: 'denied', reason: 'No.', exceptTreatmentIds: [kept] }),
    '/exceptTreatmentIds',
  ],
])('submitReview answers 400 decisions_incomplete when exceptTreatmentIds lists %s', async (_what, changes, place) => {
  const { status, body } = await review({ ...except, ...changes() });
  expect([status, body.code]).toEqual([400, 'decisions_incomplete']);
  expect(body.errors).toMatchObject([{ pointer: `#/decisions/0${place}` }]);
});

it('getChart shows the exceptions and the rationale of an earlier approval', async () => {
  const patientId = await newPatient(harness, partner);
  const decide = () => ({ ...except, exceptTreatmentIds: [declined] });
  const first = await newEncounter(harness, partner, { patientId, ...both() });
  await reviewed(harness, partner, first, decide);
  const waiting = await newEncounter(harness, partner, { patientId, clinicId: first.clinicId, ...both() });
  await claim(harness, partner, waiting);
  const path = `GET /encounters/${waiting.encounter_id}/chart?reviewerRef=${reviewer}`;
  const { body: chart } = await call(harness, path, { token: partner.token });
  const decision = { declinedTreatmentIds: [declined], rationale: except.rationale };
  expect(chart.earlierReviews).toMatchObject([{ decisions: [decision] }]);
});
