import { randomUUID } from 'node:crypto';
import { isNpi } from '../../../src/domain/providers/importProviders.js';
import { newEncounter, newPartner, newPatient } from '../../support/factories.js';
import { everyCase } from '../../support/everyCase.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { id: gfeStateId } = await harness.domain.db.prisma.refState.findFirstOrThrow({ where: { code: 'AZ' } });
/** Makes an encounter one of a patient in Arizona; the clinics are in Texas. */
const arizonan = { patientId: await newPatient(harness, partner, { gfeStateId }) };

const setRequired = (requireLicensedProvider: boolean) =>
  harness.domain.db.prisma.tenant.updateMany({ where: { id: partner.tenantId }, data: { requireLicensedProvider } });
await setRequired(true);

const valid = { state: 'TX', expiresOn: '2026-11-20', asynchronousAllowed: true };

/** A provider with one license, valid by default. */
async function newProvider(
  changes: Partial<typeof valid> = {},
  isActive = true,
  { tenantId } = partner,
): Promise<string> {
  const { expiresOn, ...license } = { ...valid, ...changes };
  const { now, newId, db } = harness.domain;
  const id = newId();
  const times = { createdAt: now(), updatedAt: now() };
  const data = { id, tenantId, reviewerRef: id, name: 'Ada', npi: '1234567893', isActive, ...times };
  await db.prisma.provider.createMany({ data });
  const row = { id: newId(), tenantId, providerId: id, number: '1', ...license };
  await db.prisma.providerLicense.create({ data: { ...row, expiresOn: new Date(expiresOn) } });
  return id;
}

const act = (encounterNo: number, action: string, json: object): Promise<Answer> =>
  call(harness, `POST /encounters/${encounterNo}/${action}`, { token: partner.token, json });

it('claimEncounter needs an active provider of the tenant, with a license for state and type of review that has not expired', async () => {
  const foreign = await newPartner(harness);
  const cases: [string, string, object, boolean][] = [
    ['of the clinic’s state, on its last day', await newProvider(), {}, true],
    ['expired yesterday', await newProvider({ expiresOn: '2026-11-19' }), {}, false],
    ['of the patient’s state', await newProvider({ state: 'AZ' }), arizonan, true],
    ['for live visits only', await newProvider({ asynchronousAllowed: false }), {}, false],
    ['of an inactive provider', await newProvider({}, false), {}, false],
    ['of a provider of another tenant', await newProvider({}, true, foreign), {}, false],
  ];
  await everyCase(
    cases,
    ([license]) => license,
    async ([, reviewerRef, changes, isLicensed]) => {
      const { encounter_id } = await newEncounter(harness, partner, changes);
      const { status, body } = await act(encounter_id, 'claim', { reviewerRef });
      expect([status, body.code]).toEqual(isLicensed ? [200, undefined] : [409, 'provider_not_licensed']);
    },
  );
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

it('isNpi rejects an NPI whose check digit is wrong', () => {
  expect(['1234567893', '1245319599'].map(isNpi)).toEqual([true, true]);
  expect(['1234567890', '1234567839', '0000000000'].map(isNpi)).toEqual([false, false, false]);
});

const sources: [string, (arizona: string, texas: string) => object, string | null][] = [
  ['gfeStateId', (arizona: string, texas: string) => ({ gfeStateId: arizona, stateId: texas }), 'AZ'],
  ['stateId without gfeStateId', (arizona: string) => ({ stateId: arizona }), 'AZ'],
  ['the clinic without either', () => ({}), 'TX'],
  [
    'an unknown gfeStateId beside a known stateId',
    (arizona: string) => ({ gfeStateId: randomUUID(), stateId: arizona }),
    null,
  ],
  ['an unknown stateId', () => ({ stateId: randomUUID() }), null],
];
it('createEncounter takes the review state from the patient, else from the clinic', async () => {
  const { refState } = harness.domain.db.prisma;
  const codes = await Promise.all(['AZ', 'TX'].map((code) => refState.findFirstOrThrow({ where: { code } })));
  const [arizona = '', texas = ''] = codes.map(({ id }) => id);
  await everyCase(
    sources,
    ([source]) => source,
    async ([, facts, state]) => {
      const patientId = await newPatient(harness, partner, facts(arizona, texas));
      const { encounter_id, reviewState } = await newEncounter(harness, partner, { patientId });
      const { body } = await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token });
      expect([reviewState, body.reviewState]).toEqual([state, state]);
    },
  );
});

it('claimEncounter checks the license in the state to which the patient has moved since the creation', async () => {
  const patientId = await newPatient(harness, partner);
  const { encounter_id } = await newEncounter(harness, partner, { patientId });
  await harness.domain.db.prisma.patient.updateMany({
    where: { tenantId: partner.tenantId, id: patientId },
    data: { gfeStateId },
  });
  const refused = await act(encounter_id, 'claim', { reviewerRef: await newProvider() });
  expect([refused.status, refused.body.code]).toEqual([409, 'provider_not_licensed']);
  const { status, body } = await act(encounter_id, 'claim', { reviewerRef: await newProvider({ state: 'AZ' }) });
  expect([status, body.reviewState]).toEqual([200, 'AZ']);
});
