import { cast } from '../../support/cast.js';
import { newEncounter, newPartner, newPatient, patientBody } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';
import { fillSandbox, newSandbox, reset } from '../../support/sandbox.js';

const harness = await openHarness();

const encounter = {
  ...{ clinicId: cast.clinics.austin, patientId: cast.jane.id, treatmentIds: [cast.products.botox] },
  ...{ reviewType: 'asynchronous', serviceQueue: 'provider_network' },
};

it('createPatient and createEncounter answer 409 sandbox_full from 5,000 records until the sandbox is reset', async () => {
  const { token, tenantId } = await newSandbox(harness);
  const createPatient = () => call(harness, 'POST /clients', { token, json: patientBody() });
  const createEncounter = () => call(harness, 'POST /encounters', { token, json: encounter });
  await fillSandbox(harness, tenantId, 'client');
  expectProblem(await createPatient(), 409, 'sandbox_full');
  expect((await createEncounter()).status).toBe(201);
  await fillSandbox(harness, tenantId, 'encounter');
  expectProblem(await createEncounter(), 409, 'sandbox_full');
  expect((await reset(harness, { token })).status).toBe(204);
  expect([(await createPatient()).status, (await createEncounter()).status]).toEqual([201, 201]);
  expect(await harness.domain.db.prisma.encounter.count({ where: { tenantId } })).toBeLessThan(20);
});

it('createPatient and createEncounter have no limit of 5,000 records in a live tenant', async () => {
  const partner = await newPartner(harness);
  await newEncounter(harness, partner);
  for (const table of ['client', 'encounter'] as const) await fillSandbox(harness, partner.tenantId, table);
  await newPatient(harness, partner);
  await newEncounter(harness, partner);
});
