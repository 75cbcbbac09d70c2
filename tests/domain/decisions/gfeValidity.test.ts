import fc from 'fast-check';
import { approvalEnd } from '../../../src/domain/approvals/approvals.js';
import { statusAt } from '../../../src/domain/approvals/coverage.js';

const at = (text: string): Date => new Date(text);
const yearly = { reviewOften: 'YEARLY', reviewRecurring: true };
const monthly = { reviewOften: 'MONTHLY', reviewRecurring: true };

describe('the end of an approval', () => {
  it.each([
    ['one review is enough', { reviewOften: 'YEARLY', reviewRecurring: false }],
    ['one review is enough, although the rule is unknown', { reviewOften: 'WEEKLY', reviewRecurring: false }],
    ['the rule is unknown (R-48)', { reviewOften: 'WEEKLY', reviewRecurring: true }],
    ['the rule is in lower case (R-48)', { reviewOften: 'yearly', reviewRecurring: true }],
    ['the rule is the name of an inherited property', { reviewOften: 'constructor', reviewRecurring: true }],
  ])('is null if %s', (_why, rule) => {
    expect(approvalEnd(rule, at('2026-11-20T16:00:00.000Z'))).toBeNull();
  });

  it("keeps the decision's time and day of the month, or falls on the last day of a shorter month", () => {
    const times = fc.date({ min: at('2000-01-01'), max: at('2199-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(times, fc.constantFrom([yearly, 12] as const, [monthly, 1] as const), (approved, [rule, months]) => {
        const end = approvalEnd(rule, approved) ?? approved;
        const monthOf = (time: Date): number => time.getUTCFullYear() * 12 + time.getUTCMonth();
        expect(monthOf(end) - monthOf(approved)).toBe(months);
        const lastDay = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
        expect(end.getUTCDate()).toBe(Math.min(approved.getUTCDate(), lastDay));
        const dayMs = 24 * 3_600_000;
        expect(end.getTime() % dayMs).toBe(approved.getTime() % dayMs);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the status of an approval', () => {
  const validUntil = at('2027-11-20T16:00:00.000Z');

  it.each([
    ['approved', 'a millisecond before its end', validUntil, '2027-11-20T15:59:59.999Z'],
    ['expired', 'at its end', validUntil, '2027-11-20T16:00:00.000Z'],
    ['expired', 'after its end', validUntil, '2028-01-01T00:00:00.000Z'],
    ['approved', 'without an end', null, '2999-01-01T00:00:00.000Z'],
  ] as const)('is %s %s', (shown, _when, end, now) => {
    expect(statusAt({ status: 'approved', validUntil: end }, at(now))).toBe(shown);
  });

  it.each(['pending_review', 'denied', 'cancelled', 'expired', 'superseded', 'revoked'] as const)(
    'that is %s does not change with time',
    (status) => {
      expect(statusAt({ status, validUntil: null }, at('2999-01-01'))).toBe(status);
    },
  );
});
