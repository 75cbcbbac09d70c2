import { configureTenant } from '../../../src/domain/access/tenants.js';
import { newEncounter, newPartner, newProduct } from '../../support/factories.js';
import { openHarness } from '../../support/openHarness.js';
import { call, type Answer } from '../../support/http.js';
import { eventTypesOf, recordOf, reviewed } from '../../support/reviews.js';

type Encounter = Answer['body'];

const harness = await openHarness();
const partner = await newPartner(harness);
const { token } = partner;
beforeAll(() => configureTenant(harness.domain, partner.tenantId, { gfeReuse: true }));

const statuses = ({ gfe_data }: Encounter): string[] => gfe_data.map(({ status }: Encounter) => status);
const patch = async ({ encounter_id }: Encounter, json: object): Promise<Encounter> =>
  (await call(harness, `PATCH /encounters/${encounter_id}`, { token, json })).body;

/** An encounter with two treatments; an earlier approval covers the first. */
async function halfReused(): Promise<Encounter> {
  const treatmentIds = [await newProduct(harness, partner), await newProduct(harness, partner)];
  const earlier = await newEncounter(harness, partner, { treatmentIds: [treatmentIds[0]] });
  const { clinicId, patientId } = await reviewed(harness, partner, earlier);
  const encounter = await newEncounter(harness, partner, { clinicId, patientId, treatmentIds });
  expect([encounter.status, statuses(encounter)]).toEqual(['pending_review', ['approved', 'pending_review']]);
  return encounter;
}

it('updateEncounter completes the encounter, with an order, when earlier approvals cover the remaining items', async () => {
  const encounter = await halfReused();
  const body = await patch(encounter, { treatmentIds: [encounter.treatmentIds[0]] });
  const done = { status: 'completed', completedAt: expect.any(String), order_no: expect.any(String) };
  expect([body, statuses(body)]).toEqual([expect.objectContaining(done), ['approved']]);
  const shown = await call(harness, `GET /encounters/${encounter.encounter_id}`, { token });
  expect(recordOf(shown.body)).toEqual(body);
  const types = await eventTypesOf(harness, encounter);
  expect(types).toEqual(['encounter.updated', 'encounter.completed', 'order.created']);
});

it('updateEncounter does not reuse an approval that has ended since the encounter was created', async () => {
  const encounter = await halfReused();
  const json = { medicalHistory: 'Asthma' };
  await call(harness, `PATCH /clients/${encounter.patientId}`, { token, json });
  const body = await patch(encounter, { treatmentIds: encounter.treatmentIds.toReversed() });
  expect(statuses(body)).toEqual(['pending_review', 'pending_review']);
});

it('updateEncounter keeps the reused approvals when only reference or metadata change', async () => {
  const encounter = await halfReused();
  await call(harness, `PATCH /clients/${encounter.patientId}`, { token, json: { medicalHistory: 'Asthma' } });
  expect(statuses(await patch(encounter, { reference: 'x' }))).toEqual(statuses(encounter));
});
