import fc from 'fast-check';
import { Problem } from '../../../src/problem.js';
import { encounterView } from '../../../src/views/encounterView.js';
import { orderView } from '../../../src/views/orderView.js';
import { approvalFaults, moneyFaults } from '../../support/recordInvariants.js';
import { Life } from './life.js';
import type { CatalogTreatment } from './world.js';

const catalog: readonly CatalogTreatment[] = [
  { id: 'botox', category: 'toxins', price: '240.00', shipping: '15.00' },
  { id: 'filler', category: 'toxins', price: '0.10' },
  { id: 'semaglutide', category: 'weight', price: '299.00', rx: { refills: 1 }, reviewOften: 'MONTHLY' },
];
const ids = catalog.map(({ id }) => id);

/** The number of random histories; the seed makes them the same in every run. */
const LIVES = Number(process.env['LIVES'] ?? 1_000);

const treatments = fc.uniqueArray(fc.constantFrom(...ids), { minLength: 1 });
const place = fc.nat({ max: 3 });
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('request' as const), treatments }),
    fc.record({ do: fc.constant('review' as const), place, denied: treatments, except: fc.constantFrom(...ids, '') }),
    fc.record({ do: fc.constant('revoke' as const), place }),
    fc.record({ do: fc.constant('addendum' as const), place }),
    fc.record({ do: fc.constant('pay' as const), place, share: fc.constantFrom(1, 2) }),
    fc.record({ do: fc.constant('refund' as const), place, amount: fc.constantFrom('0.05', '10.00', '240.00') }),
    fc.record({
      do: fc.constant('fulfil' as const),
      place,
      status: fc.constantFrom(
        'accepted' as const,
        'shipped' as const,
        'delivered' as const,
        'exception' as const,
        'cancelled' as const,
      ),
      treatments: fc.constantFrom(...ids).map((id) => [id]),
      isSeen: fc.constantFrom(true, true, false),
    }),
    // `ship` and `return` are sequences of commands that rarely follow each other by chance.
    fc.record({ do: fc.constant('ship' as const), place, treatment: fc.constantFrom(...ids) }),
    fc.record({ do: fc.constant('return' as const), place, treatment: fc.constantFrom(...ids) }),
    fc.record({ do: fc.constant('pass' as const), days: fc.constantFrom(1, 20, 200) }),
  ),
  { maxLength: 12, size: 'max' },
);
type Step = (typeof steps extends fc.Arbitrary<infer Steps> ? Steps : never) extends readonly (infer One)[]
  ? One
  : never;

/** Takes a step; the first refused command ends it. */
function take(life: Life, step: Step): void {
  const index = 'place' in step ? step.place % Math.max(1, life.encounters.length) : 0;
  if (step.do !== 'request' && step.do !== 'pass' && life.encounters.length === 0) return;
  try {
    if (step.do === 'request') life.request(step.treatments);
    else if (step.do === 'pass') life.pass(step.days);
    else if (step.do === 'revoke') life.revoke(index);
    else if (step.do === 'addendum') life.addendum(index);
    else if (step.do === 'refund') life.refund(index, step.amount);
    else if (step.do === 'pay') life.pay(index, life.order(index).balanceAmt.div(step.share).toDP(2).toFixed(2));
    else if (step.do === 'ship') {
      for (const status of ['accepted', 'shipped'] as const) {
        life.fulfil(index, status, [step.treatment], { acknowledgeChanges: true });
      }
    } else if (step.do === 'return') {
      life.pay(index, life.order(index).balanceAmt.toFixed(2));
      life.fulfil(index, 'accepted', [step.treatment], { acknowledgeChanges: true });
      life.fulfil(index, 'exception', [step.treatment]);
      life.pass(32);
      life.fulfil(index, 'accepted', [step.treatment], { acknowledgeChanges: true });
    } else if (step.do === 'fulfil') {
      life.fulfil(index, step.status, step.treatments, { acknowledgeChanges: step.isSeen });
    } else {
      const isDenied = (category: string) =>
        catalog.some((one) => one.category === category && step.denied.includes(one.id));
      const except = (category: string) => catalog.filter((one) => one.category === category && one.id === step.except);
      life.review(index, (category) =>
        isDenied(category)
          ? { decision: 'denied' }
          : { decision: 'approved', exceptTreatmentIds: except(category).map(({ id }) => id) },
      );
    }
  } catch (error) {
    if (!(error instanceof Problem) && String(error) !== 'Error: the encounter has no order: approve it') throw error;
  }
  life.pass(0.001);
}

/** The rules that a history violates after a step; empty if it violates none. */
function faults(life: Life): string[] {
  return life.encounters.flatMap((encounter, index) => {
    if (encounter.orders.length === 0) return [];
    const order = life.order(index);
    const shown = orderView(order);
    const ended = encounter.treatments.filter(({ endReason }) => endReason !== null).map(({ productId }) => productId);
    const isWaiting = ({ status, holdAt }: (typeof order.lines)[number]): boolean =>
      holdAt === null && ['pending', 'accepted', 'exception'].includes(status);
    return [
      ...moneyFaults(shown),
      ...approvalFaults(encounterView(encounter, life.now), [shown]),
      ...order.lines.flatMap((line) =>
        ended.includes(line.productId) && isWaiting(line) ? [`${line.productId} has ended, but is not held`] : [],
      ),
      ...order.lines.flatMap(({ productId, status, recalledAt }) => {
        const isRevoked = encounter.treatments.some(
          (one) => one.productId === productId && one.endReason === 'revoked',
        );
        const isLost = isRevoked && ['shipped', 'delivered'].includes(status) && recalledAt === null;
        return isLost ? [`${productId} has left and is revoked, but not recalled`] : [];
      }),
      ...encounter.gfeItems.flatMap(({ status, categoryId, validUntil }) => {
        const own = encounter.treatments.filter((one) => one.categoryId === categoryId && one.decision === 'approved');
        // An approval that has expired keeps its status.
        if (status === 'approved' && validUntil !== null && validUntil <= life.now) return [];
        const isCovered = own.some(({ endReason }) => endReason === null);
        return (status === 'approved') === isCovered || own.length === 0 ? [] : [`an item is ${status}`];
      }),
    ];
  });
}

it('no line is accepted without its approval, and money, holds and clearance agree, in random histories', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(steps, (life) => {
      const one = new Life(catalog);
      // Most faults need a first review.
      one.review(one.request(ids));
      for (const step of life) {
        const before = one.encounters.map(({ orders: [order] }) => order?.lines.map(({ status }) => status) ?? []);
        take(one, step);
        if (faults(one).length > 0) return false;
        for (const [
          index,
          {
            orders: [order],
            treatments: own,
          },
        ] of one.encounters.entries()) {
          for (const [at, line] of (order?.lines ?? []).entries()) {
            seen.add(`${line.status} ${line.holdReason ?? ''}`);
            const isTaken = (status?: string): boolean => status === 'accepted' || status === 'shipped';
            const isAccepted = isTaken(line.status) && !isTaken(before[index]?.[at]);
            const isLatest = own.find(({ productId }) => productId === line.productId)?.endReason === null;
            // A line may be accepted only while the latest decision approves it and its coverage is `approved`.
            if (isAccepted && (!isLatest || one.coverageOf(line.productId) !== 'approved')) return false;
          }
        }
        for (const id of ids) seen.add(one.coverageOf(id));
      }
      return true;
    }),
    { numRuns: LIVES, seed: 1 },
  );
  for (const outcome of ['approved', 'denied', 'declined', 'expired', 'revoked', 'pending']) {
    expect(seen).toContain(outcome);
  }
  for (const outcome of [
    'shipped ',
    'accepted ',
    'pending revoked',
    'pending superseded',
    'pending expired',
    'exception expired',
  ]) {
    expect(seen).toContain(outcome);
  }
});
