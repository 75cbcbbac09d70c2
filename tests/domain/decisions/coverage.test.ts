import { changedSince, coverage, standing } from '../../../src/domain/approvals/coverage.js';

const at = new Date('2026-11-20T16:00:00.000Z');
const before = new Date(at.getTime() - 1);
const after = new Date(at.getTime() + 1);

const decided = { decision: 'approved' as const, validUntil: null, endedAt: null, endReason: null };
const latest = { ...decided, rx: { refills: 1 }, reviewType: 'asynchronous' as const };
const treatment = { isActive: true, rx: { refills: 1 }, minAge: 18, synchronousOnly: false };
const facts = { age: 36, hasGuardian: false, isPatientActive: true, isClinicActive: true };

describe('the standing of a decision', () => {
  it.each([
    ['pending', 'before it is made', { decision: null }],
    ['denied', 'for a denial', { decision: 'denied' as const }],
    ['declined', 'for an exception', { decision: 'declined' as const }],
    ['approved', 'for an approval without end', {}],
    ['approved', 'a millisecond before its end', { validUntil: after }],
    ['expired', 'at its end', { validUntil: at }],
    ['revoked', 'after a revocation', { endedAt: before, endReason: 'revoked' as const }],
    ['superseded', 'after a later decision', { endedAt: before, endReason: 'superseded' as const }],
    // The clocks of two servers differ.
    ['revoked', 'after a revocation by a clock that is ahead', { endedAt: after, endReason: 'revoked' as const }],
    [
      'revoked',
      'although it would have expired',
      { validUntil: before, endedAt: before, endReason: 'revoked' as const },
    ],
  ])('is %s %s', (expected, _when, changes) => {
    expect(standing({ ...decided, ...changes }, at)).toBe(expected);
  });
});

describe('coverage', () => {
  it.each([
    ['approved', 'while the approval is in force and nothing excludes the treatment', {}, {}, {}],
    ['never_requested', 'without a decision', null, {}, {}],
    ['prescription_changed', 'when the product has another prescription', {}, { rx: { refills: 2 } }, {}],
    ['prescription_changed', 'when the product no longer has a prescription', {}, { rx: null }, {}],
    ['not_permitted', 'below the minimum age', {}, { minAge: 37 }, {}],
    ['not_permitted', 'for a minor without guardian', {}, { minAge: 0 }, { age: 17 }],
    ['approved', 'for a minor with guardian', {}, { minAge: 0 }, { age: 17, hasGuardian: true }],
    ['not_permitted', 'after a chart review when the product needs a visit', {}, { synchronousOnly: true }, {}],
    [
      'approved',
      'after a visit when the product needs one',
      { reviewType: 'synchronous' as const },
      { synchronousOnly: true },
      {},
    ],
    ['not_permitted', 'while the product is inactive', {}, { isActive: false }, {}],
    ['not_permitted', 'while the clinic is inactive', {}, {}, { isClinicActive: false }],
    ['not_permitted', 'while the patient is inactive', {}, {}, { isPatientActive: false }],
    [
      'denied',
      'after a denial, even of a product that is now inactive',
      { decision: 'denied' as const },
      { isActive: false },
      {},
    ],
  ])('is %s %s', (expected, _when, decision, changes, present) => {
    const found = decision && { ...latest, ...decision };
    expect(coverage({ ...treatment, ...changes }, found, false, { ...facts, ...present }, at)).toBe(expected);
  });

  it('says pending for an open request, unless the latest decision is an approval in force', () => {
    const answers = [null, { ...latest, decision: 'denied' as const }, latest, { ...latest, validUntil: before }];
    expect(answers.map((one) => coverage(treatment, one, true, facts, at))).toEqual([
      ...['pending', 'pending', 'approved', 'pending'],
    ]);
  });
});

it('changedSince names the kinds of facts that changed after a version', () => {
  const changes = { patient: 3, documents: 7, decisions: 8 };
  expect([0n, 3n, 7n, 8n, null].map((version) => changedSince(changes, version))).toEqual([
    ['patient', 'documents', 'decisions'],
    ['documents', 'decisions'],
    ['decisions'],
    [],
    [],
  ]);
});
