import { catalog, deny } from './approved.js';
import { Life } from './life.js';
import { codeOf, problemOf, provider } from './world.js';

describe('licenses:', () => {
  const asked = { state: 'TX', number: '4711', asynchronousAllowed: true, expiresOn: '2026-11-20' };
  const registered = (license: object = {}, changes: object = {}) => {
    return { isLicenseRequired: true, provider: { ...provider, licenses: [{ ...asked, ...license }], ...changes } };
  };
  const unknown = { isLicenseRequired: true, provider: null };
  const everything = ['claim', 'review', 'addendum', 'revoke'];
  /** Actions that, where licenses are required, need a registered active provider, but no license. */
  const afterReview = ['addendum', 'revoke'];
  const live = { reviewType: 'synchronous' };

  it.each<[string, string[], Life['provider'], object]>([
    ['licensed in the state, on the last day of the license', everything, registered(), {}],
    ['whose license expired yesterday', afterReview, registered({ expiresOn: '2026-11-19' }), {}],
    ['licensed in another state', afterReview, registered({ state: 'AZ' }), {}],
    ['licensed in the state of the patient', everything, registered({ state: 'AZ' }), { patientState: 'AZ' }],
    ['licensed in the state of the clinic, not of the patient', afterReview, registered(), { patientState: 'AZ' }],
    ['licensed for live visits only', afterReview, registered({ asynchronousAllowed: false }), {}],
    ['licensed for live visits only, in a live visit', everything, registered({ asynchronousAllowed: false }), live],
    ['who is deactivated', [], registered({}, { isActive: false }), {}],
    ['who is unknown', [], unknown, {}],
    ['who is unknown, where no license is required', everything, { ...unknown, isLicenseRequired: false }, {}],
  ])('a provider %s may do exactly %j of claim, review, addendum and revoke', (_who, expected, registry, body) => {
    const visit =
      body === live ? { visit: { startedAt: '2026-11-20T16:00:00Z', endedAt: '2026-11-20T16:00:00Z' } } : {};
    const actions: Record<string, (life: Life) => void> = {
      claim: (life) => life.claim(0),
      review: (life) => life.decide(0, undefined, visit),
      addendum: (life) => life.addendum(0),
      revoke: (life) => life.revoke(0),
    };
    const answers = Object.entries(actions).map(([action, act]) => {
      const life = new Life(catalog);
      life.provider = { ...unknown, isLicenseRequired: false };
      life.request(['botox'], body);
      if (action !== 'claim') life.claim(0);
      if (afterReview.includes(action)) life.decide(0, undefined, visit);
      life.provider = registry;
      return [action, codeOf(() => act(life))] as const;
    });
    expect(answers.flatMap(([action, code]) => (code === undefined ? [action] : []))).toEqual(expected);
    for (const [, code] of answers) expect([undefined, 'provider_not_licensed']).toContain(code);
  });

  it('the problem of a claim says so if no US state of the patient is known', () => {
    const life = new Life(catalog);
    life.patientState = null;
    life.request(['botox']);
    expect(problemOf(() => life.claim(0))?.message).toContain('No US state is known');
  });

  it('a claim and an approval need a license, if the tenant requires one, in the state where the patient is by then', () => {
    const life = new Life(catalog);
    life.provider = registered();
    const index = life.request(['botox']);
    life.patientState = 'AZ';
    expect(codeOf(() => life.claim(index))).toBe('provider_not_licensed');
    life.provider = registered({ state: 'AZ' });
    life.claim(index);
    expect(life.encounters[index]?.reviewState).toBe('AZ');
    life.patientState = 'TX';
    expect(codeOf(() => life.decide(index))).toBe('provider_not_licensed');
    life.decide(index, deny);
    expect(life.encounters[index]?.reviewState).toBe('TX');
  });

  it.each<[string, string, Life['provider']]>([
    ['no problem', 'an MD with a DEA number', registered()],
    ['no problem', 'someone unknown, where no license is required', { ...unknown, isLicenseRequired: false }],
    ['provider_not_licensed', 'a provider without a DEA number', registered({}, { deaNumber: null })],
    ['provider_not_licensed', 'an RN', registered({}, { credential: 'RN' })],
    [
      'provider_not_licensed',
      'an RN, where no license is required',
      { ...registered({}, { credential: 'RN' }), isLicenseRequired: false },
    ],
    ['provider_not_licensed', 'a provider without a credential', registered({}, { credential: null })],
  ])('the 180-day approval of a controlled substance gets %s for %s', (code, _who, registry) => {
    const rx = { refills: 0, deaScheduleId: '01a05c32-5e80-7000-8000-00000000dea2' };
    const life = new Life([{ id: 'ketamine', category: 'pain', price: '1.00', rx }]);
    life.provider = registry;
    life.request(['ketamine']);
    life.claim(0);
    const refusal = problemOf(() => life.decide(0));
    expect(refusal?.code ?? 'no problem').toBe(code);
    if (refusal) expect(refusal.errors).toMatchObject([{ reason: 'dea_required' }]);
    const end = life.encounters[0]?.treatments[0]?.validUntil;
    if (!refusal) expect(Number(end) - Number(life.now)).toBe(180 * 24 * 3_600_000);
    else life.decide(0, deny);
  });

  it.each([
    ['approves', 180, []],
    ['excepts', 365, ['ketamine']],
  ])(
    'the approval of an item whose controlled substance the provider %s ends after %d days',
    (_what, days, exceptTreatmentIds) => {
      const rx = { refills: 0, deaScheduleId: '01a05c32-5e80-7000-8000-00000000dea2' };
      const life = new Life([...catalog, { id: 'ketamine', category: 'toxins', price: '1.00', rx }]);
      life.review(life.request(['botox', 'ketamine']), () => ({ decision: 'approved', exceptTreatmentIds }));
      const [encounter] = life.encounters;
      const ends = [encounter?.gfeItems[0]?.validUntil, encounter?.treatments[0]?.validUntil];
      expect(ends.map((end) => (Number(end) - Number(life.now)) / 86_400_000)).toEqual([days, days]);
    },
  );

  it('a decision stores the name, NPI, credential and license of its provider in the review state', () => {
    const life = new Life(catalog);
    life.claim(life.request(['botox']));
    life.provider = registered({ expiresOn: '2999-12-31' });
    life.decide(0);
    const frozen = { name: 'Ana Ruiz', npi: '1234567893', credential: 'MD', license: 'TX 4711' };
    expect(life.encounters[0]?.reviewedProvider).toEqual(frozen);
  });
});
