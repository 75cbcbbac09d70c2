import type { Bodies } from '../../../src/contract.js';
import { catalog, deny } from './approved.js';
import { Life } from './life.js';
import { codeOf, problemOf, refusalOf } from './world.js';

type Decision = Bodies['SubmitReviewRequest']['decisions'][number];

const ids = catalog.map(({ id }) => id);

/** A life with one claimed encounter. */
function claimed(body: object = {}, treatmentIds: readonly string[] = ids, birthDate?: string): Life {
  const life = new Life(catalog, birthDate);
  life.request(treatmentIds, body);
  life.claim(0);
  return life;
}
const of = (category: string, more: object = {}): Decision => ({
  ...{ categoryId: category, subcategoryId: `${category}-sub`, decision: 'approved' },
  ...more,
});
const [toxins, weight] = [of('toxins'), of('weight')];
const denied = { decision: 'denied' };

describe('the decisions of a review', () => {
  it.each<[string, Decision[], string[]]>([
    ['leave an item out', [toxins], ['']],
    ['decide an item twice', [toxins, weight, of('toxins', denied)], ['/2']],
    ['name an unknown item', [of('toxins', { subcategoryId: 'weight-sub' }), weight], ['/0', '']],
    ['deny without a reason', [toxins, of('weight', denied)], ['/1/reason']],
    [
      'except a treatment of another item',
      [of('toxins', { exceptTreatmentIds: ['semaglutide'] }), weight],
      [...['/0/exceptTreatmentIds/0']],
    ],
    [
      'except a treatment twice',
      [of('toxins', { exceptTreatmentIds: ['botox', 'BOTOX'] }), weight],
      [...['/0/exceptTreatmentIds/1']],
    ],
    [
      'except every treatment',
      [of('toxins', { exceptTreatmentIds: ['botox', 'filler'] }), weight],
      [...['/0/exceptTreatmentIds']],
    ],
    [
      'except treatments of a denial',
      [of('toxins', { ...denied, reason: 'No.', exceptTreatmentIds: ['botox'] }), weight],
      ['/0/exceptTreatmentIds'],
    ],
    [
      'have several of these faults at once',
      [of('toxins', denied), toxins, of('peptides')],
      ['/0/reason', '/1', '/2', ''],
    ],
  ])('are incomplete if they %s', (_fault, decisions, places) => {
    const life = claimed();
    const [before] = life.encounters;
    expect(refusalOf(() => life.decide(0, undefined, { decisions }))).toEqual([
      'decisions_incomplete',
      ...places.map((place) => `#/decisions${place}`),
    ]);
    expect(life.encounters).toEqual([before]);
  });

  it('complete the encounter with an order of the approved treatments', () => {
    const life = claimed();
    const toxin = of('toxins', { exceptTreatmentIds: ['FILLER'], rationale: 'The lower dose first.', reason: 'Fit.' });
    life.decide(0, undefined, { decisions: [of('weight', { ...denied, reason: 'Allergy.' }), toxin] });
    expect(life.encounters[0]).toMatchObject({
      ...{ status: 'completed', leaseExpiresAt: null, completedAt: life.now, version: 3 },
      gfeItems: [
        { status: 'approved', denialReason: null, rationale: 'The lower dose first.', decidedAt: life.now },
        { status: 'denied', denialReason: 'Allergy.', validUntil: null, decidedAt: life.now },
      ],
      treatments: [{ decision: 'approved' }, { decision: 'declined' }, { decision: 'denied' }],
      orders: [{ lines: [{ productId: 'botox' }] }],
    });
    expect(String(life.order(0).grandTotal)).toBe('255');
    expect(life.events.slice(-2)).toMatchObject([
      { type: 'encounter.completed', data: { approved: 1, denied: 1 } },
      { type: 'order.created' },
    ]);
  });

  it('that deny every item deny the encounter, without an order', () => {
    const life = claimed();
    life.decide(0, deny);
    expect(life.encounters[0]).toMatchObject({
      status: 'denied',
      leaseExpiresAt: null,
      orders: [],
      completedAt: life.now,
    });
    expect(life.events.at(-1)).toMatchObject({ type: 'encounter.denied', data: { denied: 2 } });
  });
});

describe('a live review', () => {
  const live = () => claimed({ reviewType: 'synchronous' }, ['botox']);
  const visit = (startedAt: string, endedAt: string) => ({ visit: { startedAt, endedAt } });

  it('answers visit_required without a visit, even if decisions are missing, too', () => {
    expect(refusalOf(() => live().decide(0, deny, { decisions: [] }))).toEqual(['visit_required', '#/visit']);
  });

  it('needs a visit that starts at most 15 minutes before the claim, and ends after its start and at most a minute from now', () => {
    const [first, last] = ['2026-11-20T15:45:00.000Z', '2026-11-20T16:01:00.000Z'];
    const early = visit('2026-11-20T15:44:59.999Z', '2026-11-20T16:01:00.001Z');
    expect(refusalOf(() => live().decide(0, deny, early))).toEqual([
      ...['validation_failed', '#/visit/startedAt', '#/visit/endedAt'],
    ]);
    expect(refusalOf(() => live().decide(0, deny, visit(last, first)))).toEqual([
      'validation_failed',
      '#/visit/endedAt',
    ]);
    const life = live();
    life.decide(0, deny, { ...visit(first, last), notes: 'Pale.' });
    const stored = { visitStartedAt: new Date(first), visitEndedAt: new Date(last), reviewNotes: 'Pale.' };
    expect(life.encounters[0]).toMatchObject(stored);
  });
});

describe('a review with another chartVersion than that of the chart', () => {
  const facts = { patient: 1, documents: 2, decisions: 3 };
  it.each<[string, object, object, string[]]>([
    ['facts', { factsVersion: 3n, factsChanges: facts }, {}, ['patient', 'documents', 'decisions']],
    ['decisions elsewhere', {}, { decisions: '1-0' }, ['decisions']],
    ['documents', {}, { documents: '1-0' }, ['documents']],
    ['supplies', {}, { supplies: '1-0' }, ['treatments']],
    ['prescriptions', {}, { treatments: 'b' }, ['treatments']],
    ['possible duplicates', {}, { duplicates: 'c' }, ['patient']],
  ])('is refused with the changed parts, and keeps the claim: %s', (_what, patient, marks, changed) => {
    const life = claimed();
    const [before] = life.encounters;
    const chartVersion = '0.....';
    life.patient = { ...life.patient, ...patient };
    Object.assign(life.marks, marks);
    const problem = problemOf(() => life.decide(0, deny, { chartVersion }));
    expect([problem?.code, problem?.extra]).toEqual(['chart_changed', { changed }]);
    expect(life.encounters).toEqual([before]);
  });

  it.each(['yesterday', '7.....', ''])('is refused if the service did not make the chartVersion: "%s"', (version) => {
    expect(codeOf(() => claimed().decide(0, deny, { chartVersion: version }))).toBe('chart_changed');
  });
});

describe('an approval, but no denial, is refused', () => {
  it.each<[string, string, (life: Life) => void]>([
    ['treatment_not_permitted', 'if the patient is too young today', (life) => set(life, { minAge: 99 })],
    ['treatment_not_permitted', 'if it needs a visit today', (life) => set(life, { synchronousOnly: true })],
    ['guardian_required', 'for a minor who no longer has a guardian', (life) => patient(life, { guardian: null })],
    ['patient_inactive', 'for an inactive patient', (life) => patient(life, { accountIsActive: false })],
    [
      'provider_not_licensed',
      'if the provider is unknown',
      (life) => void (life.provider = { ...life.provider, provider: null }),
    ],
  ])('with %s %s', (code, _when, change) => {
    const life = new Life(catalog, '2015-06-30');
    patient(life, { guardian: { name: 'Ann Miller' } });
    life.request(['botox']);
    life.claim(0);
    change(life);
    expect(codeOf(() => life.decide(0))).toBe(code);
    life.decide(0, deny);
    expect(life.encounters[0]?.status).toBe('denied');
  });

  const set = (life: Life, changes: object) => void life.catalog.set('botox', { ...catalog[0], ...changes });
  const patient = (life: Life, changes: object) => void (life.patient = { ...life.patient, ...changes });

  it('unless it declines the treatment that is not permitted', () => {
    const life = claimed();
    set(life, { minAge: 99 });
    life.decide(0, () => ({ decision: 'approved' }), {
      decisions: [of('toxins', { exceptTreatmentIds: ['botox'] }), weight],
    });
    expect(life.encounters[0]?.status).toBe('completed');
  });

  it('with a pointer to the decision about the treatment that is not permitted', () => {
    const life = claimed();
    set(life, { minAge: 99 });
    const approve = { decisions: [weight, of('toxins')] };
    const problem = problemOf(() => life.decide(0, () => ({ decision: 'approved' }), approve));
    expect(problem?.errors.map(({ pointer }) => pointer)).toEqual(['#/decisions/1']);
  });
});

describe('a revocation', () => {
  it.each([
    ['validation_failed', 'an unknown item', [of('peptides')]],
    ['validation_failed', 'an item twice', [toxins, toxins]],
    ['invalid_state', 'a denied item', [weight]],
  ])('answers %s to %s', (code, _what, items) => {
    const life = claimed();
    life.decide(0, (category) => (category === 'weight' ? deny() : { decision: 'approved' }));
    expect(codeOf(() => life.revoke(0, items))).toBe(code);
  });

  it('is refused once the approval has expired', () => {
    const life = claimed();
    life.decide(0);
    life.pass(400);
    expect(codeOf(() => life.revoke(0, [toxins]))).toBe('invalid_state');
  });
});

it('an encounter takes at most 100 addenda, and they count as changed decisions', () => {
  const life = claimed();
  life.decide(0);
  for (let count = 0; count < 100; count += 1) life.addendum(0);
  expect(codeOf(() => life.addendum(0))).toBe('too_many_records');
  expect(life.newsOf(0)).toEqual(['decisions']);
});

it('an order takes at most 200 payments and refunds, but still a refund of all that is left of a payment', () => {
  const life = claimed();
  life.decide(0);
  for (let count = 0; count < 199; count += 1) life.pay(0, '2.00');
  life.refund(0, '1.00');
  for (const more of [() => life.pay(0, '1.00'), () => life.refund(0, '0.50')]) {
    expect(codeOf(more)).toBe('too_many_records');
  }
  life.refund(0, '1.00');
  for (const { id } of life.order(0).payments.slice(1)) life.refund(0, '2.00', id);
  expect(life.order(0).paidAmt.toFixed(2)).toBe('0.00');
});
