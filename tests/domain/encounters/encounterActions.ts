import fc from 'fast-check';
import type { Action } from './encounterModel.js';

const by = fc.constantFrom('A', 'A', 'A', 'B');
/** The next action on an encounter; claims and reviews are drawn most often. */
export const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('claim' as const),
      by,
      leaseSeconds: fc.constantFrom(1, 3_600, 14_400),
      hasUrl: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('review' as const),
      by,
      visit: fc.constantFrom(...(['now', 'now', 'now', 'none', 'early', 'late'] as const)),
      decisions: fc.constantFrom('all' as const, 'first' as const, 'none' as const, 'incomplete' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      seconds: fc.constantFrom(1, 3_599, 3_600, 14_400, 14 * 86_400, 30 * 86_400),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('release' as const), by }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('ask' as const), by }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('inform' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('reschedule' as const), hours: fc.constantFrom(null, -1, 1, 24 * 40) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('cancel' as const),
      by: fc.constantFrom('partner' as const, 'provider' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('expire' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('sweepClaims' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('sweepExpired' as const) }) },
);
