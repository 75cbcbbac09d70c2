import { randomUUID } from 'node:crypto';
import { newEncounter, newPartner, newPatient, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';

let harness: Harness;
let partner: Partner;
let [arizona, texas]: string[] = [];
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  const { refState } = harness.domain.db.prisma;
  const states = await Promise.all(['AZ', 'TX'].map((code) => refState.findFirstOrThrow({ where: { code } })));
  [arizona, texas] = states.map(({ id }) => id);
});
afterAll(() => harness.close());

/** The review state of a new encounter at a clinic in Texas, by its retrieval. */
async function stateWith(facts: object): Promise<{ encounterId: number; patientId: string; reviewState: unknown }> {
  const patientId = await newPatient(harness, partner, facts);
  const { encounter_id, reviewState } = await newEncounter(harness, partner, { patientId });
  const { body } = await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token });
  expect(body.reviewState).toBe(reviewState);
  return { encounterId: encounter_id, patientId, reviewState };
}

it.each([
  ['gfeStateId', () => ({ gfeStateId: arizona, stateId: texas }), 'AZ'],
  ['stateId without gfeStateId', () => ({ stateId: arizona }), 'AZ'],
  ['the clinic without either', () => ({}), 'TX'],
  ['an unknown gfeStateId beside a known stateId', () => ({ gfeStateId: randomUUID(), stateId: arizona }), null],
  ['an unknown stateId', () => ({ stateId: randomUUID() }), null],
])('createEncounter takes the review state from %s', async (_source, facts, state) => {
  expect((await stateWith(facts())).reviewState).toBe(state);
});

it('an encounter keeps its review state when the patient moves', async () => {
  const { encounterId, patientId } = await stateWith({ gfeStateId: texas });
  const headers = { 'Content-Type': 'application/merge-patch+json' };
  const move = { token: partner.token, headers, json: { gfeStateId: arizona } };
  expect((await call(harness, `PATCH /clients/${patientId}`, move)).status).toBe(200);
  const { body } = await call(harness, `GET /encounters/${encounterId}`, { token: partner.token });
  expect(body.reviewState).toBe('TX');
});

it('claimEncounter answers 409 provider_not_licensed while the review state is unknown, and says so in the detail', async () => {
  const { encounterId } = await stateWith({ gfeStateId: randomUUID() });
  const tenant = { where: { id: partner.tenantId }, data: { requireLicensedProvider: true } };
  await harness.domain.db.prisma.tenant.update(tenant);
  const claim = { token: partner.token, json: { reviewerRef: '1234567893' } };
  const { status, body } = await call(harness, `POST /encounters/${encounterId}/claim`, claim);
  expect([status, body.code, body.detail]).toEqual([
    409,
    'provider_not_licensed',
    expect.stringContaining('No US state is known'),
  ]);
});
