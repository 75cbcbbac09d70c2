import { randomUUID } from 'node:crypto';
import { newEncounter, newPartner, newPatient } from '../../support/factories.js';
import { everyCase } from '../../support/everyCase.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { id: gfeStateId } = await harness.domain.db.prisma.refState.findFirstOrThrow({ where: { code: 'AZ' } });
/** Makes an encounter one of a patient in Arizona; the clinics are in Texas. */
const arizonan = { patientId: await newPatient(harness, partner, { gfeStateId }) };

await harness.domain.db.prisma.tenant.updateMany({
  where: { id: partner.tenantId },
  data: { requireLicensedProvider: true },
});

/** A provider of the tenant with one license. */
async function newProvider(state: string, { tenantId } = partner): Promise<string> {
  const { now, newId, db } = harness.domain;
  const id = newId();
  const times = { createdAt: now(), updatedAt: now() };
  const data = { id, tenantId, reviewerRef: id, name: 'Ada', npi: '1234567893', isActive: true, ...times };
  await db.prisma.provider.createMany({ data });
  const license = { state, number: '1', expiresOn: new Date('2026-11-20'), asynchronousAllowed: true };
  await db.prisma.providerLicense.create({ data: { id: newId(), tenantId, providerId: id, ...license } });
  return id;
}

/** The numbers of the waiting encounters. */
async function queue(state: string): Promise<number[]> {
  const target = `GET /review-queue?serviceQueue=provider_network&limit=100${state}`;
  const { body } = await call(harness, target, { token: partner.token });
  return body.data.map(({ encounter_id }: { encounter_id: number }) => encounter_id);
}

it('listReviewQueue filters by US state', async () => {
  const elsewhere = await newEncounter(harness, partner, arizonan);
  const here = await newEncounter(harness, partner);
  const [all, texas, arizona] = [await queue(''), await queue('&state=tx'), await queue('&state=AZ')];
  expect(texas).toContain(here.encounter_id);
  expect(arizona).toContain(elsewhere.encounter_id);
  expect([...texas, ...arizona].sort()).toEqual(all.toSorted());
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
it('listReviewQueue finds encounters under the state to which updatePatient moves their patient, unless they have a patientState', async () => {
  const patientId = await newPatient(harness, partner);
  const encounterOf = async (more: object): Promise<number> =>
    (await newEncounter(harness, partner, { patientId, ...more })).encounter_id;
  const send = async (target: string, json: object): Promise<void> =>
    expect((await call(harness, target, { token: partner.token, json })).status).toBe(200);
  const [waiting, placed, claimed] = [
    await encounterOf({}),
    await encounterOf({ patientState: 'TX' }),
    await encounterOf({}),
  ];
  const claim = { reviewerRef: await newProvider('TX') };
  await send(`POST /encounters/${claimed}/claim`, claim);
  await send(`PATCH /clients/${patientId}`, { gfeStateId });
  await send(`POST /encounters/${claimed}/release`, claim);
  const own = async (state: string): Promise<number[]> =>
    (await queue(state)).filter((one) => [waiting, placed, claimed].includes(one));
  expect([await own('&state=TX'), await own('&state=AZ')]).toEqual([[placed], [waiting, claimed]]);
  await send(`PATCH /clients/${patientId}`, { gfeStateId: null });
  expect(await own('&state=TX')).toEqual([waiting, placed, claimed]);
});

it('createEncounter takes the review state from the patient, else from the clinic, and none if the state id of the patient is unknown', async () => {
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

it('claimEncounter, if the tenant requires licenses, needs a provider of the tenant with one in the state to which the patient has moved since the creation', async () => {
  const patientId = await newPatient(harness, partner);
  const { encounter_id } = await newEncounter(harness, partner, { patientId });
  await harness.domain.db.prisma.patient.updateMany({
    where: { tenantId: partner.tenantId, id: patientId },
    data: { gfeStateId },
  });
  const claim = (reviewerRef: string): Promise<Answer> =>
    call(harness, `POST /encounters/${encounter_id}/claim`, { token: partner.token, json: { reviewerRef } });
  for (const unfit of [await newProvider('TX'), await newProvider('AZ', await newPartner(harness))]) {
    expectProblem(await claim(unfit), 409, 'provider_not_licensed');
  }
  const { status, body } = await claim(await newProvider('AZ'));
  expect([status, body.reviewState]).toEqual([200, 'AZ']);
});
