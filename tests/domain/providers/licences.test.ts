import { configureTenant } from '../../../src/domain/access/tenants.js';
import { isNpi } from '../../../src/domain/providers/importProviders.js';
import { newEncounter, newPartner, newPatient, type Partner } from '../../support/factories.js';
import { everyCase } from '../../support/everyCase.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { reviewBody } from '../../support/reviews.js';

let harness: Harness;
let partner: Partner;
/** Makes an encounter one of a patient in Arizona; the clinics are in Texas. */
let arizonan: { readonly patientId: string };
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  await setRequired(true);
  const { id: gfeStateId } = await harness.domain.db.prisma.refState.findFirstOrThrow({ where: { code: 'AZ' } });
  arizonan = { patientId: await newPatient(harness, partner, { gfeStateId }) };
});
afterAll(() => harness.close());

const setRequired = (requireLicensedProvider: boolean) =>
  harness.domain.db.prisma.tenant.update({ where: { id: partner.tenantId }, data: { requireLicensedProvider } });

const valid = { state: 'TX', expiresOn: '2026-11-20', asynchronousAllowed: true };

/** A provider with one licence, valid by default. */
async function newProvider(
  changes: Partial<typeof valid> = {},
  isActive = true,
  { tenantId } = partner,
): Promise<string> {
  const { expiresOn, ...licence } = { ...valid, ...changes };
  const { now, newId, db } = harness.domain;
  const id = newId();
  const times = { createdAt: now(), updatedAt: now() };
  const data = { id, tenantId, reviewerRef: id, name: 'Ada', npi: '1234567893', isActive, ...times };
  await db.prisma.provider.create({ data });
  const row = { id: newId(), tenantId, providerId: id, number: '1', ...licence };
  await db.prisma.providerLicence.create({ data: { ...row, expiresOn: new Date(expiresOn) } });
  return id;
}

const moveClinics = (state: string) =>
  harness.domain.db.prisma.clinicLocation.updateMany({ where: { tenantId: partner.tenantId }, data: { state } });

const unknownState = () =>
  harness.domain.db.prisma.clinicLocation.updateMany({
    where: { tenantId: partner.tenantId },
    data: { isPrimary: false },
  });

const act = (encounterNo: number, action: string, json: object): Promise<Answer> =>
  call(harness, `POST /encounters/${encounterNo}/${action}`, { token: partner.token, json });

it('claimEncounter and submitReview require an active provider with a valid licence in the US state of the encounter', async () => {
  const foreign = await newPartner(harness);
  const live = { reviewType: 'synchronous' };
  const cases: [string, string, object, boolean][] = [
    ['of the clinic’s state, on its last day', await newProvider(), {}, true],
    ['expired yesterday', await newProvider({ expiresOn: '2026-11-19' }), {}, false],
    ['of another state', await newProvider({ state: 'AZ' }), {}, false],
    ['of the patient’s state', await newProvider({ state: 'AZ' }), arizonan, true],
    ['of the clinic’s state, not the patient’s', await newProvider(), arizonan, false],
    ['for live visits only', await newProvider({ asynchronousAllowed: false }), {}, false],
    ['for live visits only, in a live visit', await newProvider({ asynchronousAllowed: false }), live, true],
    ['of an inactive provider', await newProvider({}, false), {}, false],
    ['of a provider of another tenant', await newProvider({}, true, foreign), {}, false],
    ['of an unknown provider', 'NPI-1', {}, false],
  ];
  await everyCase(
    cases,
    ([licence]) => licence,
    async ([, reviewerRef, changes, isLicensed]) => {
      const { encounter_id } = await newEncounter(harness, partner, changes);
      const { status, body } = await act(encounter_id, 'claim', { reviewerRef });
      expect([status, body.code]).toEqual(isLicensed ? [200, undefined] : [409, 'provider_not_licensed']);
      if (!isLicensed) return;
      const where = { tenantId: partner.tenantId, providerId: reviewerRef };
      await harness.domain.db.prisma.providerLicence.deleteMany({ where });
      for (const [action, json] of [
        ['review', { ...reviewBody(body), reviewerRef }],
        ['claim', { reviewerRef }],
      ] as const) {
        expect((await act(encounter_id, action, json)).body.code).toBe('provider_not_licensed');
      }
    },
  );
});

it('claimEncounter accepts any reviewerRef if the tenant does not require a licence', async () => {
  await setRequired(false);
  const { encounter_id } = await newEncounter(harness, partner);
  expect((await act(encounter_id, 'claim', { reviewerRef: 'NPI-1' })).status).toBe(200);
  await setRequired(true);
});

it('listReviewQueue filters by US state', async () => {
  const elsewhere = await newEncounter(harness, partner, arizonan);
  const here = await newEncounter(harness, partner);
  const queue = async (state: string): Promise<number[]> => {
    const target = `GET /review-queue?serviceQueue=provider_network&limit=100${state}`;
    const { body } = await call(harness, target, { token: partner.token });
    return body.data.map(({ encounter_id }: { encounter_id: number }) => encounter_id);
  };
  const [all, texas, arizona] = [await queue(''), await queue('&state=tx'), await queue('&state=AZ')];
  expect(texas).toContain(here.encounter_id);
  expect(arizona).toContain(elsewhere.encounter_id);
  expect([...texas, ...arizona].sort()).toEqual(all.toSorted());
});

it('createEncounter reuses an approval only if its provider could review the new encounter today', async () => {
  await configureTenant(harness.domain, partner.tenantId, { gfeReuse: true });
  const { tenantId } = partner;
  const { db } = harness.domain;
  const nothing = async (): Promise<void> => undefined;
  const cases: [string, Partial<typeof valid>, object, (id: string) => Promise<unknown>, boolean][] = [
    ['licensed', {}, {}, nothing, true],
    [
      'deactivated since',
      {},
      {},
      (id) => db.prisma.provider.updateMany({ where: { tenantId, id }, data: { isActive: false } }),
      false,
    ],
    [
      'whose licence lapsed since',
      {},
      {},
      (providerId) =>
        db.prisma.providerLicence.updateMany({
          where: { tenantId, providerId },
          data: { expiresOn: new Date('2026-11-19') },
        }),
      false,
    ],
    ['who is not licensed in the state of the new clinic location', {}, {}, () => moveClinics('AZ'), false],
    ['when the state is unknown', {}, {}, unknownState, false],
    [
      'when no licence is required',
      {},
      {},
      async (id) => {
        await db.prisma.provider.updateMany({ where: { tenantId, id }, data: { isActive: false } });
        await setRequired(false);
      },
      true,
    ],
    [
      'who may review live visits only, after a live visit',
      { asynchronousAllowed: false },
      { reviewType: 'synchronous' },
      nothing,
      true,
    ],
  ];
  await everyCase(
    cases,
    ([name]) => name,
    async ([, licence, changes, meanwhile, isReused]) => {
      const reviewerRef = await newProvider(licence);
      const { encounter_id, clinicId, patientId, treatmentIds } = await newEncounter(harness, partner, changes);
      const { body } = await act(encounter_id, 'claim', { reviewerRef });
      expect((await act(encounter_id, 'review', { ...reviewBody(body), reviewerRef })).status).toBe(200);
      await meanwhile(reviewerRef);
      const next = await newEncounter(harness, partner, { clinicId, patientId, treatmentIds });
      await moveClinics('TX');
      await setRequired(true);
      expect(next.status).toBe(isReused ? 'completed' : 'pending_review');
    },
  );
});

it('isNpi checks the check digit', () => {
  expect(['1234567893', '1245319599'].map(isNpi)).toEqual([true, true]);
  expect(['1234567890', '1234567839', '0000000000'].map(isNpi)).toEqual([false, false, false]);
});
