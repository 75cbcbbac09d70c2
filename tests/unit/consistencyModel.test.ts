import { createdEncounter, encounterModel } from '../lab/encounterModel.js';
import type { Intent, Json } from '../lab/history.js';
import { linearize, type Op } from '../lab/linearize.js';

// Histories that the auditor of tests/lab once called impossible, and some that are.

const item = { categoryId: 'c', subcategoryId: 's' };
const facts = { reviewType: 'asynchronous', itemOfTreatment: new Map([['t', 'c s']]), isClockMoving: false };
const input = { reference: 'first', treatmentIds: ['t'] };
const client = { name: 'a client' };

/** One operation after the other, on an encounter with one treatment. */
const history = (...steps: readonly Json[]): Op[] =>
  steps.map(({ input: sent, note, body, ...step }, index) => ({
    intent: { operation: step.kind, client, input: sent, note, attempts: [] } as unknown as Intent,
    ...{ from: 2 * index, to: 2 * index + 1, ...step },
    ...(body && { body: { ...shown, ...body } }),
  }));
const shown = {
  status: 'in_review',
  version: 2,
  reviewerRef: 'Dr. A',
  scheduledDay: null,
  cancelReason: null,
  ...input,
};
const read = (body: object) => ({ kind: 'getEncounter', outcome: 'seen', body: { gfe_data: waiting, ...body } });
const waiting = [{ ...item, status: 'pending_review' }];
/** A claim of a second, which has ended when somebody else is refused by the passing of time. */
const claim = {
  ...{ kind: 'claimEncounter', outcome: 'done', input: { reviewerRef: 'Dr. A', leaseSeconds: 1 } },
  body: { gfe_data: waiting },
};
const lapsed = { kind: 'releaseEncounter', outcome: 'refused', code: 'invalid_state', input: { reviewerRef: 'Dr. A' } };
const started = 'encounter.review_started';

const isPossible = (ops: readonly Op[], ...events: string[]): boolean =>
  linearize(encounterModel(facts), createdEncounter(input, facts), ops, events) === null;

it('the consistency model accepts a claim that is still shown after its lease has ended and another encounter was decided', () => {
  const decision = { kind: 'decidedElsewhere', outcome: 'done', input: {}, note: 't' };
  expect(isPossible(history(claim, lapsed, decision, read({})), started)).toBe(true);
});

it('the consistency model accepts that updateEncounter with unchanged treatments succeeds after the lease of a claim, but not during it', () => {
  const body = { gfe_data: waiting, version: 3, reference: 'second' };
  const patch = { kind: 'updateEncounter', outcome: 'done', input: { ...input, reference: 'second' }, body };
  const updated = 'encounter.updated reference';
  expect(isPossible(history(claim, lapsed, patch), started, updated)).toBe(true);
  const long = { ...claim, input: { reviewerRef: 'Dr. A' } };
  expect(isPossible(history(long, patch), started, updated)).toBe(false);
});

it('the consistency model rejects a read of an earlier version and an event without a cause', () => {
  const stale = read({ status: 'pending_review', version: 1, reviewerRef: null });
  expect(isPossible(history(claim, stale), started)).toBe(false);
  expect(isPossible(history(claim, read({})), started, 'encounter.released')).toBe(true);
  expect(isPossible(history(claim, read({})), started, 'encounter.cancelled other')).toBe(false);
});
