import { randomUUID } from 'node:crypto';
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

type Body = Answer['body'];
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
        ['review', { ...(await reviewBody(harness, partner, body)), reviewerRef }],
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

const actions = {
  claim: (reviewerRef: string, encounter: Body) => act(encounter.encounter_id, 'claim', { reviewerRef }),
  review: async (reviewerRef: string, encounter: Body) =>
    act(encounter.encounter_id, 'review', { ...(await reviewBody(harness, partner, encounter)), reviewerRef }),
  addendum: (reviewerRef: string, encounter: Body) =>
    act(encounter.encounter_id, 'addenda', { reviewerRef, text: 'The lab result arrived.' }),
  revoke: (reviewerRef: string, { encounter_id, gfe_data }: Body) => {
    const items = gfe_data.map(({ categoryId, subcategoryId }: Body) => ({ categoryId, subcategoryId }));
    return act(encounter_id, 'revoke', { reviewerRef, items, reason: 'The chart was wrong.' });
  },
};
type Action = keyof typeof actions;

/** An encounter that is ready for the action, by the provider; until then no licence is required. */
async function readyFor(action: Action, reviewerRef: string, changes: object): Promise<Body> {
  await setRequired(false);
  let encounter = await newEncounter(harness, partner, changes);
  const before: Action[] = action === 'claim' ? [] : action === 'review' ? ['claim'] : ['claim', 'review'];
  for (const step of before) encounter = (await actions[step](reviewerRef, encounter)).body;
  await setRequired(true);
  return encounter;
}

const state = async (code: 'AZ' | 'TX') =>
  (await harness.domain.db.prisma.refState.findFirstOrThrow({ where: { code } })).id;
const unknown = async () => randomUUID();
const moveTo =
  (code: 'AZ') =>
  async (id: string): Promise<unknown> =>
    harness.domain.db.prisma.patient.updateMany({
      where: { tenantId: partner.tenantId, id },
      data: { gfeStateId: await state(code) },
    });
const stay = async (): Promise<unknown> => undefined;
const inTexas = () => state('TX');

const everyAction = ['claim', 'review', 'addendum', 'revoke'] as const;
/** They correct the record, so they need no licence but an active provider. */
const afterReview = ['addendum', 'revoke'] as const;
/** Provider, state of the patient, what happens before the action, and the actions that are accepted. */
const providers: [
  string,
  Parameters<typeof newProvider>,
  () => Promise<string>,
  (patientId: string) => Promise<unknown>,
  readonly (typeof everyAction)[number][],
][] = [
  ['licensed in the state', [], inTexas, stay, everyAction],
  ['of a patient whose state is unknown', [], unknown, stay, afterReview],
  [
    'whose licence lapsed, of a patient whose state is unknown',
    [{ expiresOn: '2026-11-19' }],
    unknown,
    stay,
    afterReview,
  ],
  ['who is deactivated, of a patient whose state is unknown', [{}, false], unknown, stay, []],
  ['licensed in the old state of a patient who moved', [], inTexas, moveTo('AZ'), everyAction],
  ['licensed in the new state of a patient who moved', [{ state: 'AZ' }], inTexas, moveTo('AZ'), afterReview],
  ['who is deactivated', [{}, false], inTexas, stay, []],
  ['whose licence lapsed', [{ expiresOn: '2026-11-19' }], inTexas, stay, afterReview],
  ['licensed in another state', [{ state: 'AZ' }], inTexas, stay, afterReview],
  ['who may not review asynchronously', [{ asynchronousAllowed: false }], inTexas, stay, afterReview],
];

describe('where licences are required', () => {
  it.each(
    providers.flatMap(([provider, licence, home, meanwhile, accepted]) =>
      everyAction.map((action) => {
        const effect = accepted.includes(action) ? 'accepted' : 'refused';
        return [action, provider, effect, { licence, home, meanwhile, isAccepted: accepted.includes(action) }] as const;
      }),
    ),
  )('%s by a provider %s is %s', async (action, _provider, _effect, { licence, home, meanwhile, isAccepted }) => {
    const reviewerRef = await newProvider(...licence);
    const patientId = await newPatient(harness, partner, { gfeStateId: await home() });
    const encounter = await readyFor(action, reviewerRef, { patientId });
    await meanwhile(patientId);
    const stored = async () =>
      (await call(harness, `GET /encounters/${encounter.encounter_id}`, { token: partner.token })).body;
    const before = await stored();
    const { status, body } = await actions[action](reviewerRef, encounter);
    expect([status, body.code]).toEqual(isAccepted ? [200, undefined] : [409, 'provider_not_licensed']);
    if (isAccepted) expect(await stored()).not.toEqual(before);
    else expect(await stored()).toEqual(before);
  });
});

it('isNpi rejects an NPI whose check digit is wrong', () => {
  expect(['1234567893', '1245319599'].map(isNpi)).toEqual([true, true]);
  expect(['1234567890', '1234567839', '0000000000'].map(isNpi)).toEqual([false, false, false]);
});
