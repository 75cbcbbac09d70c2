import {
  encounterBody,
  newCategory,
  newClient,
  newClinic,
  newPartner,
  newPatient,
  newProduct,
  type ProductChanges,
} from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';

const unknownId = '01a10caf-a4c0-7000-8000-00000000dead';

const harness = await openHarness();
const partner = await newPartner(harness);
const valid = await encounterBody(harness, partner);

const create = (json: object, token = partner.token, headers = {}) =>
  call(harness, 'POST /encounters', { token, json, headers });

describe('the limits of a treatment in createEncounter', () => {
  const { prisma } = harness.domain.db;
  const inCategory = async (rules: object, changes: ProductChanges = {}): Promise<string> => {
    const group = await newCategory(harness, partner);
    await prisma.category.updateMany({ where: { tenantId: partner.tenantId, id: group.categoryId }, data: rules });
    return newProduct(harness, partner, { ...group, ...changes });
  };

  it.each<[string, number, object, ProductChanges]>([
    ['the product, which precedes its category', 1, { minAge: 30 }, { minAge: 1 }],
    ['the category, if the product has none', 30, { minAge: 30 }, {}],
    ['the tenant, if neither product nor category has one', 18, {}, {}],
  ])('include the minimum age of %s: %i years', async (_source, minAge, ofCategory, ofProduct) => {
    const treatmentIds = [await inCategory(ofCategory, ofProduct)];
    const guardian = { name: 'Ann Miller', relation: 'mother', phone: '5125550143' };
    const year = harness.clock.now.getUTCFullYear() - minAge;
    const patients = [`${year}-01-01`, `${year + 1}-01-01`].map((dateOfBirth) =>
      newPatient(harness, partner, { dateOfBirth, guardian }),
    );
    const [old, young] = await Promise.all(patients);
    expect((await create({ ...valid, treatmentIds, patientId: old })).status).toBe(201);
    const refused = await create({ ...valid, treatmentIds, patientId: young });
    expectProblem(refused, 409, 'treatment_not_permitted', [{ pointer: '#/treatmentIds/0' }]);
  });

  it.each<[string, object, ProductChanges]>([
    ['product', {}, { synchronousOnly: true }],
    ['category', { synchronousOnly: true }, {}],
  ])('include synchronousOnly of the %s', async (_source, ofCategory, ofProduct) => {
    const json = { ...valid, treatmentIds: [await inCategory(ofCategory, ofProduct)] };
    expectProblem(await create({ ...json, reviewType: 'asynchronous' }), 409, 'treatment_not_permitted');
    expect((await create({ ...json, reviewType: 'synchronous' })).status).toBe(201);
  });
});

it.each([
  ['createEncounter', 'POST /encounters', 'treatmentIds', valid],
  ['updateEncounter', 'PATCH /encounters/999999999', 'treatmentIds', {}],
  ['reorderTreatments', 'POST /encounters/999999999/reorder', 'treatmentIds', {}],
  ['provideInformation', 'POST /encounters/999999999/information', 'documentIds', {}],
])('%s refuses an id in two spellings before it looks for records', async (_operation, target, name, body) => {
  const json = { ...body, [name]: [unknownId, unknownId.toUpperCase()] };
  const headers = { 'Idempotency-Key': 'twice' };
  const answer = await call(harness, target, { token: partner.token, json, headers });
  expectProblem(answer, 400, 'validation_failed', [{ pointer: `#/${name}/1`, code: 'uniqueItems' }]);
});

describe('createEncounter with a record that the caller cannot see', () => {
  const requestId = '01a10caf-a4c0-7000-8000-0000000000aa';

  it('answers 404 for a clinic outside the limit of the client, with the same text as for an unknown id', async () => {
    const { token } = await newClient(harness, partner.tenantId, undefined, [await newClinic(harness, partner)]);
    const patientId = await newPatient(harness, { ...partner, token });
    const ask = (clinicId: string) => create({ ...valid, patientId, clinicId }, token, { 'X-Request-Id': requestId });
    const [hidden, unknown] = [await ask(valid.clinicId), await ask(unknownId)];
    const detail = 'does not exist in your tenant, or your API client may not see it';
    expectProblem(hidden, 404, 'clinic_not_found', [{ pointer: '#/clinicId', detail }]);
    expect(hidden.text).toBe(unknown.text);
  });
});
