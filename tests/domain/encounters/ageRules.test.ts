import {
  encounterBody,
  newCategory,
  newClinic,
  newPartner,
  newPatient,
  newProduct,
  newToken,
  type ProductChanges,
} from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { prisma } = harness.domain.db;
const guardian = { name: 'Ann Miller', relation: 'mother', phone: '5125550143' };
/** A valid body; its clinic is in Austin, and its reviews are asynchronous. */
const valid = { ...(await encounterBody(harness, partner)), reviewType: 'asynchronous' };

const create = (changes: object, { token } = partner) =>
  call(harness, 'POST /encounters', { token, json: { ...valid, ...changes } });
const preview = async (changes: object) =>
  (await call(harness, 'POST /encounters/preview', { token: partner.token, json: { ...valid, ...changes } })).body;
/** A patient with this age today, and a guardian. */
const aged = (years: number): Promise<string> => {
  const { now } = harness.clock;
  return newPatient(harness, partner, { dateOfBirth: `${now.getUTCFullYear() - years}-01-01`, guardian });
};
const inCategory = async (rules: object, changes: ProductChanges = {}): Promise<string> => {
  const group = await newCategory(harness, partner);
  await prisma.category.updateMany({ where: { tenantId: partner.tenantId, id: group.categoryId }, data: rules });
  return newProduct(harness, partner, { ...group, ...changes });
};
const fault = (index: number, reason: string) => {
  return { pointer: `#/treatmentIds/${index}`, code: 'treatment_not_permitted', reason };
};

describe('the minimum age of a treatment in createEncounter', () => {
  it.each<[string, number, object, ProductChanges]>([
    ['the product, before its category', 1, { minAge: 30 }, { minAge: 1 }],
    ['the category, if the product has none', 30, { minAge: 30 }, {}],
    ['the tenant, if neither has one', 18, {}, {}],
  ])('is the age that %s sets: %i years', async (_source, minAge, ofCategory, ofProduct) => {
    const treatmentIds = [await inCategory(ofCategory, ofProduct)];
    expect((await create({ treatmentIds, patientId: await aged(minAge) })).status).toBe(201);
    const refused = await create({ treatmentIds, patientId: await aged(minAge - 1) });
    expectProblem(refused, 409, 'treatment_not_permitted', [fault(0, 'minimum_age')]);
    expect(refused.body.errors[0].detail).toBe(`is for patients of at least ${minAge} years`);
  });

  it('counts full years on the calendar of the clinic, or in UTC if its zone is unknown', async () => {
    const patientId = await newPatient(harness, partner, { dateOfBirth: '2008-11-21', guardian });
    const zoneless = await newClinic(harness, partner, { places: [] });
    const { now } = harness.clock;
    // In Austin it is still 20 November.
    harness.clock.now = new Date('2026-11-21T05:00:00.000Z');
    const later = { ...partner, token: await newToken(harness, partner) };
    const [inAustin, inUtc] = [
      await create({ patientId }, later),
      await create({ patientId, clinicId: zoneless }, later),
    ];
    harness.clock.now = now;
    expectProblem(inAustin, 409, 'treatment_not_permitted', [fault(0, 'minimum_age')]);
    expect(inUtc.status).toBe(201);
  });
});

describe('a treatment that needs a synchronous review in createEncounter', () => {
  it.each<[string, object, ProductChanges]>([
    ['its product', {}, { synchronousOnly: true }],
    ['its category', { synchronousOnly: true }, {}],
  ])('is refused for an asynchronous encounter if %s has synchronousOnly', async (_source, ofCategory, ofProduct) => {
    const treatmentIds = [...valid.treatmentIds, await inCategory(ofCategory, ofProduct)];
    expectProblem(await create({ treatmentIds }), 409, 'treatment_not_permitted', [fault(1, 'synchronous_only')]);
    expect((await create({ treatmentIds, reviewType: 'synchronous' })).status).toBe(201);
  });

  it('is reported beside the age error, in previewEncounter, too', async () => {
    const treatmentIds = [await inCategory({ minAge: 30 }, { synchronousOnly: true })];
    const body = { treatmentIds, patientId: await aged(20) };
    const both = [fault(0, 'minimum_age'), fault(0, 'synchronous_only')];
    expectProblem(await create(body), 409, 'treatment_not_permitted', both);
    expect((await preview(body)).problems).toMatchObject(both);
  });
});

describe('a patient under 18 in createEncounter', () => {
  it('is refused without a guardian, whom updatePatient adds and removes', async () => {
    const owner = await newPartner(harness, 'sandbox');
    const json = { ...(await encounterBody(harness, owner)), patientId: await newPatient(harness, owner) };
    const { token } = owner;
    const patch = (change: object) => call(harness, `PATCH /clients/${json.patientId}`, { token, json: change });
    const ask = () => call(harness, 'POST /encounters', { token, json });
    await patch({ dateOfBirth: `${harness.clock.now.getUTCFullYear() - 17}-01-01` });
    const missing = [{ pointer: '#/patientId', code: 'guardian_required' }];
    expectProblem(await ask(), 409, 'guardian_required', missing);
    const treatmentIds = [await newProduct(harness, owner, { isActive: false })];
    const worse = { ...json, treatmentIds };
    expectProblem(await call(harness, 'POST /encounters', { token, json: worse }), 409, 'guardian_required', missing);
    const { body } = await call(harness, 'POST /encounters/preview', { token, json });
    expect(body.problems).toMatchObject(missing);
    await patch({ guardian });
    expect((await ask()).status).toBe(201);
    await patch({ guardian: null });
    expectProblem(await ask(), 409, 'guardian_required', missing);
  });
});
