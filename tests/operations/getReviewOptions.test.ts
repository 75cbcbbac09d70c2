import { randomUUID } from 'node:crypto';
import {
  encounterBody,
  newClinic,
  newPartner,
  newPatient,
  newProduct,
  type EncounterBody,
  type Partner,
} from '../support/factories.js';
import { call, type Answer } from '../support/http.js';
import { openHarness } from '../support/harness.js';
import { expectProblem } from '../support/refusals.js';
import { ownStatementsOf } from '../support/statements.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { id: arizona } = await harness.domain.db.prisma.refState.findFirstOrThrow({ where: { code: 'AZ' } });
const types = ['synchronous', 'asynchronous'];

type Records = Pick<EncounterBody, 'clinicId' | 'patientId' | 'treatmentIds'>;

function ask({ clinicId, patientId, treatmentIds }: Records, { token } = partner): Promise<Answer> {
  const query = new URLSearchParams({ clinicId, patientId, treatmentIds: treatmentIds.join() });
  return call(harness, `GET /review-options?${query.toString()}`, { token });
}

/** The reason of each type of review; null = allowed. */
async function reasonsFor(records: Records, owner = partner): Promise<(string | null)[]> {
  const { status, body } = await ask(records, owner);
  expect([status, body.modes?.map(({ reviewType }: Answer['body']) => reviewType)]).toEqual([200, types]);
  return body.modes.map(({ allowed, reason }: Answer['body']) => {
    expect(allowed).toBe(reason === null);
    return reason;
  });
}

describe('getReviewOptions 200', () => {
  it('allows both types of review when nothing prevents them, with two SQL statements', async () => {
    const { clinicId, treatmentIds } = await encounterBody(harness, partner);
    const patientId = await newPatient(harness, partner, { gfeStateId: arizona });
    let answer: Answer | undefined;
    const statements = await ownStatementsOf(async () => {
      answer = await ask({ clinicId, patientId, treatmentIds });
    });
    const mode = { allowed: true, reason: null };
    expect([answer?.status, answer?.body]).toEqual([
      200,
      { reviewState: 'AZ', modes: types.map((reviewType) => ({ reviewType, ...mode })) },
    ]);
    expect(statements).toHaveLength(2);
  });

  it('refuses both types for a treatment for older patients, and asynchronous reviews for a synchronousOnly treatment', async () => {
    const records = await encounterBody(harness, partner);
    const forOlder = [await newProduct(harness, partner, { minAge: 90 })];
    expect(await reasonsFor({ ...records, treatmentIds: forOlder })).toEqual(['minimum_age', 'minimum_age']);
    const onlyLive = [await newProduct(harness, partner, { synchronousOnly: true })];
    expect(await reasonsFor({ ...records, treatmentIds: onlyLive })).toEqual([null, 'synchronous_only']);
  });

  describe('of a tenant that requires licenses', () => {
    let strict: Partner;
    let records: EncounterBody;
    beforeEach(async () => {
      strict = await newPartner(harness);
      const where = { id: strict.tenantId };
      await harness.domain.db.prisma.tenant.updateMany({ where, data: { requireLicensedProvider: true } });
      records = await encounterBody(harness, strict);
    });

    /** A provider with a license, by default of Texas and valid until the present day. */
    async function newProvider(license = {}, { isActive = true, tenantId = strict.tenantId } = {}): Promise<void> {
      const { now, newId, db } = harness.domain;
      const id = newId();
      const times = { createdAt: now(), updatedAt: now() };
      const provider = { id, tenantId, reviewerRef: id, name: 'Ada', npi: '1234567893', isActive, ...times };
      await db.prisma.provider.createMany({ data: provider });
      const valid = { state: 'TX', expiresOn: new Date(now().toISOString().slice(0, 10)), asynchronousAllowed: true };
      await db.prisma.providerLicense.create({
        data: { id: newId(), tenantId, providerId: id, number: '1', ...valid, ...license },
      });
    }

    it('refuses both types with provider_not_licensed unless an active provider has a license in force in the state', async () => {
      const unlicensed = ['provider_not_licensed', 'provider_not_licensed'];
      await newProvider({ state: 'AZ' });
      await newProvider({ expiresOn: new Date('2020-01-01') });
      await newProvider({}, { isActive: false });
      await newProvider({}, { tenantId: partner.tenantId });
      expect(await reasonsFor(records, strict)).toEqual(unlicensed);
      await newProvider({ asynchronousAllowed: false });
      expect(await reasonsFor(records, strict)).toEqual([null, 'provider_not_licensed']);
      await newProvider();
      expect(await reasonsFor(records, strict)).toEqual([null, null]);
      expect(
        await reasonsFor({ ...records, clinicId: await newClinic(harness, strict, { isActive: false }) }, strict),
      ).toEqual(['clinic_inactive', 'clinic_inactive']);
      const patientId = await newPatient(harness, strict, { gfeStateId: randomUUID() });
      expect(await reasonsFor({ ...records, patientId }, strict)).toEqual(unlicensed);
      expect((await ask({ ...records, patientId }, strict)).body.reviewState).toBeNull();
    });
  });
});

describe('getReviewOptions 404', () => {
  it('names clinic, patient and treatments that do not exist in the tenant, in this order', async () => {
    const foreign = await encounterBody(harness, await newPartner(harness));
    const treatmentIds = [await newProduct(harness, partner), ...foreign.treatmentIds];
    const answer = await ask({ ...foreign, treatmentIds });
    expectProblem(answer, 404, 'clinic_not_found', [
      { parameter: 'clinicId', code: 'clinic_not_found' },
      { parameter: 'patientId', code: 'patient_not_found' },
      {
        parameter: 'treatmentIds',
        code: 'treatment_not_found',
        detail: 'number 2 in the list does not exist in your tenant, or your API client may not see it',
      },
    ]);
  });
});
