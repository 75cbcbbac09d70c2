import fc from 'fast-check';
import type { Action } from './encounterModel.js';

const type = <Type extends Action['type']>(name: Type): fc.Arbitrary<Type> => fc.constant(name);
const by = fc.constantFrom('A', 'A', 'A', 'B');
const leaseSeconds = fc.constantFrom(1, 3_600, 14_400);
const visit = fc.constantFrom(...(['now', 'now', 'now', 'none', 'early', 'late'] as const));
const decisions = fc.constantFrom(...(['all', 'first', 'none', 'incomplete'] as const));
const seconds = fc.constantFrom(1, 3_599, 3_600, 14_400, 14 * 86_400, 30 * 86_400);
const canceller = fc.constantFrom(...(['partner', 'provider'] as const));

/** The next action on an encounter; claims and reviews are drawn most often. */
export const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: type('claim'), by, leaseSeconds, hasUrl: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ type: type('review'), by, visit, decisions }) },
  { weight: 4, arbitrary: fc.record({ type: type('wait'), seconds }) },
  { weight: 2, arbitrary: fc.record({ type: type('release'), by }) },
  { weight: 3, arbitrary: fc.record({ type: type('ask'), by }) },
  { weight: 3, arbitrary: fc.record({ type: type('inform') }) },
  { weight: 2, arbitrary: fc.record({ type: type('reschedule'), hours: fc.constantFrom(null, -1, 1, 24 * 40) }) },
  { weight: 2, arbitrary: fc.record({ type: type('cancel'), by: canceller }) },
  { weight: 1, arbitrary: fc.record({ type: type('expire') }) },
  { weight: 1, arbitrary: fc.record({ type: type('sweepClaims') }) },
  { weight: 1, arbitrary: fc.record({ type: type('sweepExpired') }) },
);
