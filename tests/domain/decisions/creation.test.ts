import type { ProblemCode } from '../../../src/contract.js';
import {
  checkEncounterRequest,
  decideCreation,
  type EncounterRequest,
} from '../../../src/domain/encounters/creation.js';
import { refuse } from '../../../src/domain/encounters/references.js';
import { problemOf, refusalOf } from './world.js';
import { Life } from './life.js';

type Parts = Parameters<typeof decideCreation>[0];
interface Request {
  readonly body: EncounterRequest;
  readonly parts: Parts;
}

const life = new Life([
  { id: 'botox', category: 'toxins', price: '240.00', shipping: '15.00' },
  { id: 'filler', category: 'toxins', price: '0.10' },
  { id: 'inactive', category: 'toxins', price: '1.00', isActive: false },
  { id: 'elsewhere', category: 'toxins', price: '1.00', availability: { dallas: true } },
  { id: 'old', category: 'toxins', price: '1.00', minAge: 37 },
  { id: 'live', category: 'toxins', price: '1.00', synchronousOnly: true },
  { id: 'oldAndLive', category: 'toxins', price: '1.00', minAge: 37, synchronousOnly: true },
]);
const usual: EncounterRequest = {
  ...{ clinicId: 'austin', patientId: 'jane', treatmentIds: ['botox'] },
  ...{ reviewType: 'asynchronous', serviceQueue: 'provider_network' },
};
const valid: Request = { body: usual, parts: life.parts(['botox']) };
const document = { id: 'lab', patientId: 'jane', isWithdrawn: false };

/** Does what createEncounter does, without its reads and writes. */
function create({ body, parts }: Request) {
  checkEncounterRequest(body);
  const { encounter, faults } = decideCreation(parts, body, life.at());
  if (faults[0]) throw refuse(faults[0]);
  return encounter;
}
const ofTreatments = (...ids: string[]): Request => ({ ...valid, parts: life.parts(ids) });
const withPatient = (changes: Partial<NonNullable<Parts['patient']>>): Request => {
  const { patient, ...others } = life.parts(['botox']);
  return { ...valid, parts: { ...others, patient: { ...patient, ...changes } } };
};

describe('the checks of a new encounter', () => {
  type Spoil = (request: Request) => Request;
  const inBody =
    (changes: Partial<EncounterRequest>): Spoil =>
    ({ body, parts }) => ({ parts, body: { ...body, ...changes } });
  const inParts =
    (change: (parts: Parts) => Partial<Parts>): Spoil =>
    ({ body, parts }) => ({ body, parts: { ...parts, ...change(parts) } });
  const alsoTreatment = (id: string): Spoil =>
    inParts(({ treatments }) => ({ treatments: [...treatments, ...life.parts([id]).treatments] }));
  const alsoDocument = (changes: Partial<typeof document>): Spoil =>
    inParts(({ documents }) => ({ documents: [...documents, { ...document, ...changes }] }));
  const ofPatient = (changes: Partial<NonNullable<Parts['patient']>>): Spoil =>
    inParts(({ patient }) => ({ patient: patient && { ...patient, ...changes } }));
  const skipped = { scheduledDay: '2027-03-14', scheduledTime: '02:30:00', scheduledTimeZone: 'America/New_York' };

  /** Each step breaks one rule of a request, in the order of the checks. */
  const steps: readonly [ProblemCode, string, Spoil][] = [
    ['validation_failed', 'an id in two spellings', inBody({ documentIds: ['LAB', 'lab'] })],
    ['schedule_incomplete', 'a time without a day', inBody({ scheduledTime: '12:00:00' })],
    ['schedule_time_nonexistent', 'a skipped time', inBody(skipped)],
    ['treatment_not_found', 'an unknown treatment', inParts(() => ({ treatments: [undefined] }))],
    [
      'clinic_inactive',
      'an inactive clinic',
      inParts(({ clinic }) => ({ clinic: clinic && { ...clinic, isActive: false } })),
    ],
    ['patient_inactive', 'an inactive patient', ofPatient({ isActive: false })],
    ['guardian_required', 'a minor without guardian', ofPatient({ dateOfBirth: '2015-01-01' })],
    ['treatment_inactive', 'an inactive treatment', alsoTreatment('inactive')],
    ['treatment_unavailable_at_clinic', 'a treatment of other clinics', alsoTreatment('elsewhere')],
    ['treatment_not_permitted', 'a treatment for older patients', alsoTreatment('old')],
    ['document_patient_mismatch', 'a document of another patient', alsoDocument({ patientId: 'joe' })],
    ['document_withdrawn', 'a withdrawn document', alsoDocument({ isWithdrawn: true })],
  ];

  it.each(steps)('answer %s to %s, even if the request violates any later rule as well', (code, _what, spoil) => {
    const mine = steps.findIndex(([, , other]) => other === spoil);
    // A later step may repair an earlier one: the day of a skipped time completes a schedule.
    const later = steps
      .slice(mine + 1)
      .filter(([other]) => code !== 'schedule_incomplete' || !other.startsWith('schedule'));
    const spoilt = [valid, ...later.map(([, , worsen]) => worsen(valid))].map(spoil);
    expect(spoilt.map((request) => problemOf(() => create(request))?.code)).toEqual(spoilt.map(() => code));
  });

  it('list every fault of existing records in the order of the checks, as previewEncounter shows them', () => {
    const expected = steps.slice(4);
    const broken = expected.reduce((request, [, , spoil]) => spoil(request), valid);
    const { faults } = decideCreation(broken.parts, broken.body, life.at());
    expect(faults.flat().map(({ code }) => code)).toEqual(expected.map(([code]) => code));
  });

  it('name every reference to a record that does not exist', () => {
    const treatments = [undefined, ...valid.parts.treatments, undefined];
    const parts = { ...valid.parts, clinic: null, patient: null, treatments, documents: [document, undefined] };
    expect(refusalOf(() => create({ ...valid, parts }))).toEqual([
      ...['clinic_not_found', '#/clinicId', '#/patientId', '#/treatmentIds/0', '#/treatmentIds/2', '#/documentIds/1'],
    ]);
  });

  it.each([
    ['treatment_inactive', ofTreatments('inactive', 'botox', 'inactive'), 'treatmentIds'],
    ['treatment_unavailable_at_clinic', ofTreatments('elsewhere', 'botox', 'elsewhere'), 'treatmentIds'],
    [
      'document_patient_mismatch',
      {
        ...valid,
        parts: { ...valid.parts, documents: ['joe', 'jane', 'joe'].map((one) => ({ ...document, patientId: one })) },
      },
      'documentIds',
    ],
  ])('name every record with %s', (code, request, property) => {
    expect(refusalOf(() => create(request))).toEqual([code, `#/${property}/0`, `#/${property}/2`]);
  });

  it('report a missing clinic before a missing zone, and a missing zone before an unknown patient', () => {
    const body = { ...usual, scheduledDay: '2027-03-14', scheduledTime: '12:00:00' };
    const unknown = { ...valid.parts, clinic: null, patient: null };
    expect(refusalOf(() => create({ body, parts: unknown }))).toEqual([
      'clinic_not_found',
      '#/clinicId',
      '#/patientId',
    ]);
    const parts = { ...valid.parts, patient: null, clinic: { id: 'austin', isActive: true, timeZone: null } };
    expect(refusalOf(() => create({ body, parts }))).toEqual(['schedule_time_zone_required', '#/scheduledTimeZone']);
  });
});

it.each([
  ['allowed', 'no entry', {}],
  ['allowed', 'an active entry here', { austin: true }],
  ['allowed', 'active entries here and elsewhere', { dallas: true, austin: true }],
  ['refused', 'an active entry elsewhere', { dallas: true }],
  ['refused', 'an inactive entry here', { austin: false }],
  ['refused', 'an inactive entry here and an active one elsewhere', { austin: false, dallas: true }],
  ['refused', 'an inactive entry elsewhere', { dallas: false }],
])('a treatment is %s at a clinic if its availability has %s (R-25)', (expected, _entries, availability) => {
  const world = new Life([{ id: 'botox', category: 'toxins', price: '1.00', availability }]);
  const problem = problemOf(() => world.request(['botox']));
  expect(problem?.code).toBe(expected === 'allowed' ? undefined : 'treatment_unavailable_at_clinic');
});

describe('the limits of a treatment', () => {
  const reasonsOf = (request: Request) =>
    problemOf(() => create(request))?.errors.map(({ pointer, reason, detail }) => [pointer, reason, detail]);

  it('exclude younger patients and other types of review, both reported together', () => {
    expect(reasonsOf(ofTreatments('botox', 'oldAndLive'))).toEqual([
      ['#/treatmentIds/1', 'minimum_age', 'is for patients of at least 37 years'],
      ['#/treatmentIds/1', 'synchronous_only', 'needs a synchronous review'],
    ]);
    const live = { ...ofTreatments('live'), body: { ...usual, reviewType: 'synchronous' as const } };
    expect(reasonsOf(live)).toBeUndefined();
  });

  it('count full years on the calendar of the clinic, or in UTC if its zone is unknown', () => {
    const world = new Life([{ id: 'old', category: 'toxins', price: '1.00', minAge: 37 }], '1989-11-21');
    // In Austin it is still 20 November.
    world.now = new Date('2026-11-21T05:00:00.000Z');
    const zoneless = { clinic: { id: 'austin', isActive: true, timeZone: null } };
    expect(problemOf(() => world.request(['old']))?.code).toBe('treatment_not_permitted');
    expect(problemOf(() => world.request(['old'], {}, zoneless))).toBeUndefined();
  });

  it('require a guardian for patients under 18 only', () => {
    const minor = { dateOfBirth: '2009-01-01' };
    expect(refusalOf(() => create(withPatient(minor)))).toEqual(['guardian_required', '#/patientId']);
    expect(problemOf(() => create(withPatient({ ...minor, hasGuardian: true })))).toBeUndefined();
    expect(problemOf(() => create(withPatient({ dateOfBirth: '2008-01-01' })))).toBeUndefined();
  });
});

describe('a new encounter', () => {
  it('has one item for two treatments of one category, has the sums of both, and expires after thirty days', () => {
    const { gfeItems, subTotal, totalShippingAmt, grandTotal, expiresAt } = create(ofTreatments('botox', 'filler'));
    expect(gfeItems.map(({ categoryId, status }) => [categoryId, status])).toEqual([['toxins', 'pending_review']]);
    expect([subTotal, totalShippingAmt, grandTotal].map(String)).toEqual(['240.1', '15', '255.1']);
    expect(expiresAt.getTime() - life.now.getTime()).toBe(30 * 24 * 3_600_000);
  });

  it("has the US state of the request as its review state, else the patient's", () => {
    const states = [{ patientState: 'az' }, {}].map((changes) => create({ ...valid, body: { ...usual, ...changes } }));
    expect(states.map(({ patientState, reviewState }) => [patientState, reviewState])).toEqual([
      ['AZ', 'AZ'],
      [null, 'TX'],
    ]);
  });
});
