import type { Schemas } from '../../../src/contract.js';
import { catalog, deny, typesOf } from './approved.js';
import { Life } from './life.js';
import { codeOf, problemOf, refusalOf } from './world.js';

const requested = (body: object = {}): Life => {
  const life = new Life(catalog);
  life.request(['botox'], body);
  return life;
};
/** A life whose only encounter has this status; for `expired`, its deadline has passed, but no sweep has run. */
const inStatus = {
  pending_review: () => requested(),
  in_review: () => after((life) => life.claim(0)),
  awaiting_information: () =>
    after((life) => {
      life.claim(0);
      life.ask(0);
    }),
  completed: () => after((life) => life.review(0)),
  denied: () => after((life) => life.review(0, deny)),
  cancelled: () => after((life) => life.cancel(0)),
  expired: () => after((life) => life.pass(30)),
};
function after(change: (life: Life) => void): Life {
  const life = requested();
  change(life);
  return life;
}
const statusOf = ({ encounters: [encounter] }: Life) => encounter?.status;

const commands: Readonly<Record<string, (life: Life) => void>> = {
  claim: (life) => life.claim(0),
  release: (life) => life.release(0),
  ask: (life) => life.ask(0),
  inform: (life) => life.inform(0),
  review: (life) => life.decide(0),
  cancel: (life) => life.cancel(0),
  reschedule: (life) => life.reschedule(0, {}),
  revise: (life) => life.update(0, { treatmentIds: ['filler'] }),
  refer: (life) => life.update(0, { reference: 'APPT-1' }),
  amend: (life) => life.addendum(0),
  revoke: (life) => life.revoke(0),
  reorder: (life) => life.reorder(0, ['botox']),
};
const accepted: Readonly<Record<keyof typeof inStatus, readonly string[]>> = {
  pending_review: ['claim', 'inform', 'cancel', 'reschedule', 'revise', 'refer'],
  in_review: ['claim', 'release', 'ask', 'inform', 'review', 'cancel', 'refer'],
  awaiting_information: ['inform', 'cancel', 'refer'],
  completed: ['refer', 'amend', 'revoke', 'reorder'],
  denied: ['refer', 'amend'],
  cancelled: ['refer'],
  expired: ['refer'],
};

it.each(Object.entries(accepted))('an encounter that is %s accepts exactly %j', (status, expected) => {
  const make = inStatus[status as keyof typeof inStatus];
  const answers = Object.entries(commands).map(([name, command]) => [name, problemOf(() => command(make()))] as const);
  expect(answers.flatMap(([name, problem]) => (problem ? [] : [name]))).toEqual(
    Object.keys(commands).filter((name) => expected.includes(name)),
  );
  for (const [, problem] of answers) {
    if (problem) expect([problem.code, problem.extra]).toEqual(['invalid_state', { current_status: status }]);
  }
});

describe('a claim', () => {
  it('belongs to one reviewerRef, spelled exactly, of one API client', () => {
    const life = inStatus.in_review();
    for (const reviewerRef of ['joe', 'Ana', 'ana ']) {
      expect(codeOf(() => life.claim(0, { reviewerRef }))).toBe('claimed_by_other');
      expect(codeOf(() => life.decide(0, deny, { reviewerRef }))).toBe('claimed_by_other');
      expect(codeOf(() => life.release(0, reviewerRef))).toBe('claimed_by_other');
    }
    expect(codeOf(() => life.claim(0, {}, 'another client'))).toBe('claimed_by_other');
  });

  it('lasts for its lease to the millisecond, is renewed without an event, and ends with encounter.released', () => {
    const life = inStatus.in_review();
    life.pass(3_599.999 / 86_400);
    expect(codeOf(() => life.claim(0, { reviewerRef: 'joe' }))).toBe('claimed_by_other');
    life.claim(0, { leaseSeconds: 60 });
    expect(typesOf(life)).toEqual(['encounter.review_started']);
    life.pass(60 / 86_400);
    expect(codeOf(() => life.decide(0))).toBe('invalid_state');
    life.claim(0, { reviewerRef: 'joe' });
    expect(life.encounters[0]).toMatchObject({ reviewerRef: 'joe', version: 5 });
    expect(typesOf(life)).toEqual([...['encounter.review_started', 'encounter.released', 'encounter.review_started']]);
  });

  it('of a live visit begins 15 minutes before its time at the earliest', () => {
    const scheduledTimeZone = 'America/New_York';
    const life = requested({
      ...{ reviewType: 'synchronous', scheduledDay: '2026-11-21', scheduledTime: '10:00:00', scheduledTimeZone },
    });
    for (const instant of [life.now, new Date('2026-11-21T14:44:59.999Z')]) {
      life.now = instant;
      const problem = problemOf(() => life.claim(0));
      expect([problem?.code, problem?.extra]).toEqual(['not_due', { claimableFrom: '2026-11-21T14:45:00.000Z' }]);
    }
    life.now = new Date('2026-11-21T14:45:00.000Z');
    expect(codeOf(() => life.claim(0))).toBeUndefined();
  });

  it('is refused after the deadline of the encounter, even if another claim was in force at the deadline', () => {
    const life = requested();
    life.pass(30 - 1e-8);
    life.claim(0);
    expect(statusOf(life)).toBe('in_review');
    life.pass(1);
    expect(problemOf(() => life.claim(0, { reviewerRef: 'joe' }))?.extra).toEqual({ current_status: 'expired' });
  });
});

describe('an update', () => {
  const changesOf = (life: Life, patch: Schemas['EncounterPatch']) => {
    const before = life.encounters[0]?.version ?? 0;
    life.update(0, patch);
    const event = life.events.at(-1);
    return [
      Number(life.encounters[0]?.version) - before,
      event?.type,
      (event?.data as { changed?: string[] } | undefined)?.changed,
    ];
  };

  it.each(Object.entries(inStatus))('changes the reference and merges the metadata while %s', (status, make) => {
    const life = make();
    // The deadline that has passed counts as a separate change.
    const steps = status === 'expired' ? 2 : 1;
    const sent = { reference: 'APPT-1', metadata: { room: '4', kind: 'first' } };
    expect(changesOf(life, sent)).toEqual([steps, 'encounter.updated', ['reference', 'metadata']]);
    expect(life.encounters[0]).toMatchObject({ status, ...sent });
    expect(changesOf(life, { metadata: { room: null } })).toEqual([1, 'encounter.updated', ['metadata']]);
    expect(life.encounters[0]?.metadata).toEqual({ kind: 'first' });
    life.update(0, { metadata: null });
    expect(life.encounters[0]?.metadata).toBeNull();
  });

  it('with unchanged values keeps the version and emits nothing', () => {
    const life = requested({ reference: 'A', metadata: { a: 1 } });
    const [before] = life.encounters;
    life.update(0, {
      reference: 'A',
      metadata: { a: 1 },
      treatmentIds: ['BOTOX'.toLowerCase()],
      reviewType: 'asynchronous',
    });
    expect([life.encounters[0], life.events]).toEqual([before, []]);
  });

  it('of treatments recalculates items and sums, and keeps the ids of unchanged ones and the place in the queue', () => {
    const life = requested();
    const [before] = life.encounters;
    life.pass(1);
    life.update(0, { treatmentIds: ['semaglutide', 'botox'], patientState: 'az' });
    const [now] = life.encounters;
    expect(now?.gfeItems.map(({ categoryId }) => categoryId)).toEqual(['weight', 'toxins']);
    expect(now?.gfeItems[1]?.id).toBe(before?.gfeItems[0]?.id);
    expect(now?.treatments[1]?.id).toBe(before?.treatments[0]?.id);
    expect(now).toMatchObject({
      claimableFrom: before?.claimableFrom,
      expiresAt: before?.expiresAt,
      reviewState: 'AZ',
    });
    expect(String(now?.grandTotal)).toBe('554');
    life.update(0, { patientState: null });
    expect(life.encounters[0]).toMatchObject({ patientState: null, reviewState: 'TX' });
  });

  it('of the type of review applies the scheduled time to claims', () => {
    const visit = { scheduledDay: '2027-01-05', scheduledTime: '12:00:00', scheduledTimeZone: 'America/Chicago' };
    const life = requested(visit);
    life.update(0, { reviewType: 'synchronous' });
    expect(codeOf(() => life.claim(0))).toBe('not_due');
    life.update(0, { reviewType: 'asynchronous' });
    expect(codeOf(() => life.claim(0))).toBeUndefined();
  });

  it('of treatments uses clinic and patient as they are now, but keeps the scheduled time', () => {
    const visit = { scheduledDay: '2027-01-05', scheduledTime: '12:00:00', reviewType: 'synchronous' };
    const life = requested(visit);
    const [before] = life.encounters;
    const { clinic, patient } = life.parts(['botox']);
    const moved = { patient: { ...patient, reviewState: 'AZ' }, clinic: { ...clinic, timeZone: null } };
    life.update(0, { reference: 'C' }, moved);
    expect(life.encounters[0]?.reviewState).toBe('TX');
    life.update(0, { treatmentIds: ['filler'] }, moved);
    const { scheduledAt, claimableFrom } = before ?? {};
    expect(life.encounters[0]).toMatchObject({ reviewState: 'AZ', scheduledAt, claimableFrom });
  });

  it('of treatments is possible after a claim has lapsed, and records the lapse', () => {
    const life = inStatus.in_review();
    life.pass(1);
    life.update(0, { treatmentIds: ['filler'] });
    expect(life.encounters[0]).toMatchObject({ status: 'pending_review', reviewerRef: null, version: 4 });
    expect(typesOf(life).slice(-2)).toEqual(['encounter.released', 'encounter.updated']);
  });

  it('of treatments repeats the checks of the creation, but keeps a document that was withdrawn since', () => {
    const lab = { id: 'lab', patientId: 'jane', isWithdrawn: false };
    const life = new Life(catalog);
    life.request(['botox'], {}, { documents: [lab] });
    life.catalog.set('peptide', { id: 'peptide', category: 'weight', price: '1.00', isActive: false });
    expect(refusalOf(() => life.update(0, { treatmentIds: ['filler', 'peptide'] }))).toEqual([
      ...['treatment_inactive', '#/treatmentIds/1'],
    ]);
    life.update(0, { treatmentIds: ['filler'] }, { documents: [{ ...lab, isWithdrawn: true }] });
    expect(life.encounters[0]).toMatchObject({
      treatments: [{ productId: 'filler' }],
      documents: [{ documentId: 'lab' }],
    });
  });
});

describe('a rescheduling', () => {
  it.each<[string, object, string]>([
    ['after the rescheduling if the schedule is removed', {}, '2027-02-08T16:00:00Z'],
    ['after the rescheduling if the schedule is earlier', { scheduledDay: '2026-11-25' }, '2027-02-08T16:00:00Z'],
    ['after a later schedule', { scheduledDay: '2027-03-01' }, '2027-03-31T06:00:00Z'],
  ])('lets the encounter expire 30 days %s', (_when, schedule, end) => {
    const life = requested({ scheduledDay: '2027-01-19' });
    life.pass(50);
    life.reschedule(0, schedule);
    expect(life.encounters[0]?.expiresAt).toEqual(new Date(end));
  });
});

describe('information', () => {
  it('returns an encounter with a question to the queue for thirty days, and keeps a later deadline', () => {
    const life = inStatus.awaiting_information();
    life.inform(0);
    expect(life.encounters[0]).toMatchObject({ status: 'pending_review', expiresAt: new Date('2026-12-20T16:00:00Z') });
    const later = requested({ scheduledDay: '2027-06-01', scheduledTimeZone: 'UTC' });
    const expiresAt = later.encounters[0]?.expiresAt;
    later.claim(0);
    later.ask(0);
    later.inform(0);
    expect(later.encounters[0]?.expiresAt).toEqual(expiresAt);
    expect(later.encounters[0]?.information).toMatchObject([{ message: 'Which dose?', additionalNotes: 'None.' }]);
  });

  it('without a question adds an entry, up to 20, and keeps status and claim', () => {
    const life = inStatus.in_review();
    for (let count = 0; count < 20; count += 1) life.inform(0);
    expect(life.encounters[0]).toMatchObject({ status: 'in_review', reviewerRef: 'ana', information: { length: 20 } });
    expect(life.encounters[0]?.information[0]).toMatchObject({
      reviewerRef: '',
      message: '',
      additionalNotes: 'None.',
    });
    expect(codeOf(() => life.inform(0))).toBe('too_many_records');
    expect(life.patient.factsChanges).toEqual({ information: 20 });
  });

  it('accepts only documents of the patient that are not withdrawn, and adds each once', () => {
    const life = inStatus.awaiting_information();
    const lab = { id: 'lab', patientId: 'jane', isWithdrawn: false };
    const bad = { ...lab, patientId: 'joe' };
    expect(refusalOf(() => life.inform(0, [lab, bad]))).toEqual(['document_patient_mismatch', '#/documentIds/1']);
    const withdrawn = { ...lab, isWithdrawn: true };
    expect(refusalOf(() => life.inform(0, [withdrawn]))).toEqual(['document_withdrawn', '#/documentIds/0']);
    life.inform(0, [lab]);
    life.inform(0, [{ ...lab, id: 'scan' }, lab]);
    expect(life.encounters[0]?.documents.map(({ documentId, position }) => [documentId, position])).toEqual([
      ['lab', 0],
      ['scan', 1],
    ]);
  });

  it('is refused once the question is 14 days old', () => {
    const life = inStatus.awaiting_information();
    life.pass(14);
    expect(problemOf(() => life.inform(0))?.extra).toEqual({ current_status: 'expired' });
  });
});
