import type { ProblemCode } from '../../../src/contract.js';
import { importProviders } from '../../../src/domain/providers/importProviders.js';
import { newEncounter, newPartner, newPatient, newProduct, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';
import { claimedEncounter, deny, reviewBody, reviewed, reviewer } from '../../support/reviews.js';

const harness = await openHarness();

const send = (encounterNo: unknown, json: unknown, { token }: Partner): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/review`, { token, json });

describe('submitReview and the provider', () => {
  const ada = { reviewerRef: reviewer, npi: '1234567893', deaNumber: null, isActive: true };
  const licensed = (number: string) => [{ state: 'TX', number, expiresOn: '2027-12-31', asynchronousAllowed: true }];
  const imported = (owner: Partner, provider: object) =>
    importProviders(harness.domain, owner.tenantId, JSON.stringify({ providers: [{ ...ada, ...provider }] }));

  it('keeps name, credential and licence of the provider with the decision when the provider is imported again', async () => {
    const owner = await newPartner(harness);
    await imported(owner, { name: 'Ada Lane', credential: 'NP', licences: licensed('4711') });
    const { encounter_id, order_no } = await reviewed(harness, owner, await newEncounter(harness, owner));
    const shown = async () => {
      const { body } = await call(harness, `GET /orders/${order_no}/dispensing`, owner);
      const row = await harness.domain.db.prisma.encounter.findFirstOrThrow({
        where: { tenantId: owner.tenantId, encounterNo: encounter_id },
      });
      return [body.lines[0].prescriber, row.reviewedProvider];
    };
    const before = await shown();
    const frozen = { name: 'Ada Lane', npi: '1234567893', credential: 'NP', licence: 'TX 4711' };
    expect(before).toMatchObject([frozen, frozen]);
    const report = await imported(owner, { name: 'Ada Smith', credential: 'MD', licences: licensed('42') });
    expect(report).toEqual({ report: { created: 0, updated: 1, unchanged: 0 } });
    expect(await shown()).toEqual(before);
  });
});

describe('submitReview of a request that may no longer be approved', () => {
  const guardian = { name: 'Ann Miller', relation: 'mother', phone: '5125550143' };
  type Change = (owner: Partner, claimed: Answer['body']) => Promise<unknown>;
  const { prisma } = harness.domain.db;
  const ofPatient = ({ tenantId }: Partner, { patientId: id }: Answer['body']) => ({ tenantId, id });
  it.each<[string, ProblemCode, Change]>([
    [
      'the treatment is for older patients',
      'treatment_not_permitted',
      ({ tenantId }, { treatmentIds: [id] }) =>
        prisma.product.updateMany({ where: { tenantId, id }, data: { minAge: 90 } }),
    ],
    [
      'a patient under 18 has no guardian any longer',
      'guardian_required',
      ({ token }, { patientId }) => call(harness, `PATCH /clients/${patientId}`, { token, json: { guardian: null } }),
    ],
    [
      'the patient is inactive',
      'patient_inactive',
      (owner, claimed) =>
        prisma.patient.updateMany({ where: ofPatient(owner, claimed), data: { accountIsActive: false } }),
    ],
    [
      'the provider has no license',
      'provider_not_licensed',
      ({ tenantId: id }) => prisma.tenant.update({ where: { id }, data: { requireLicensedProvider: true } }),
    ],
  ])('refuses the approval because %s, and accepts the denial', async (_why, code, change) => {
    const owner = await newPartner(harness);
    const patientId = await newPatient(harness, owner, { dateOfBirth: '2015-06-30', guardian });
    const treatmentIds = [await newProduct(harness, owner, { minAge: 1 })];
    const claimed = await claimedEncounter(harness, owner, { patientId, treatmentIds });
    await change(owner, claimed);
    const approval = await send(claimed.encounter_id, await reviewBody(harness, owner, claimed), owner);
    expectProblem(approval, 409, code);
    const denial = await send(claimed.encounter_id, await reviewBody(harness, owner, claimed, deny), owner);
    expect([denial.status, denial.body.status]).toEqual([200, 'denied']);
  });
});
