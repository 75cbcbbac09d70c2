import fc from 'fast-check';
import { refundPayment } from '../../../src/domain/orders/refunds.js';
import { recordPayment } from '../../../src/domain/orders/payments.js';
import { getOrder } from '../../../src/domain/orders/orders.js';
import { inCallerTransaction, type CallerContext } from '../../../src/domain/transactions/transaction.js';
import { Problem } from '../../../src/problem.js';
import { newPartner, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { callerContext } from '../../support/patientLives.js';
import { completedEncounter } from '../../support/reviews.js';

// Compares random payments and refunds of an order with a model in cents.

/** The number of orders; LIVES=300 tests more of them. */
const lives = Number(process.env['LIVES'] ?? 15);
const TOTAL = 25_500;

type Step = { readonly kind: 'pay' | 'refund'; readonly cents: number; readonly paymentIndex: number };

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('pay', 'refund'),
  cents: fc.oneof(fc.integer({ min: 1, max: 26_000 }), fc.constantFrom(1, 8_500, 12_750, 25_499, 25_500)),
  paymentIndex: fc.nat(9),
});

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
});
afterAll(() => harness.close());

const act = async <T>(work: (transaction: CallerContext) => Promise<T>): Promise<T> =>
  inCallerTransaction(await callerContext(harness, partner, () => new Date()), work);
const text = (cents: number): string => (cents / 100).toFixed(2);
const codeOf = (error: unknown): string => (error instanceof Problem ? error.code : String(error));

async function live(steps: readonly Step[]): Promise<void> {
  const { order_no } = await completedEncounter(harness, partner);
  const payments: { id: string; amount: number; refunded: number }[] = [];
  let wasPaid = false;
  let status = 'pending';
  for (const { kind, cents, paymentIndex } of steps) {
    const paid = payments.reduce((sum, { amount, refunded }) => sum + amount - refunded, 0);
    const payment = payments[paymentIndex % Math.max(payments.length, 1)];
    if (kind === 'refund' && !payment) continue;
    const isOpen = kind === 'pay' ? status === 'pending' : ['pending', 'paid'].includes(status);
    const exceeds = kind === 'pay' ? paid + cents > TOTAL : cents > (payment?.amount ?? 0) - (payment?.refunded ?? 0);
    const refusal = kind === 'pay' ? 'payment_exceeds_balance' : 'refund_exceeds_payment';
    const expected = isOpen ? (exceeds ? refusal : 'done') : 'invalid_state';
    const body = { payment_id: payment?.id ?? '', amount: text(cents), reason: 'x' };
    const outcome = await act((transaction) =>
      kind === 'pay'
        ? recordPayment(transaction, order_no, { amount: text(cents) })
        : refundPayment(transaction, order_no, body),
    ).then(() => 'done', codeOf);
    expect(outcome).toBe(expected);
    if (outcome !== 'done') continue;
    const order = await getOrder(await callerContext(harness, partner, () => new Date()), order_no);
    if (kind === 'pay') payments.push({ id: order.payments.at(-1)?.id ?? '', amount: cents, refunded: 0 });
    else if (payment) payment.refunded += cents;
    const left = payments.reduce((sum, { amount, refunded }) => sum + amount - refunded, 0);
    wasPaid ||= left === TOTAL;
    status = left === TOTAL ? 'paid' : left === 0 && wasPaid ? 'refunded' : 'pending';
    expect([order.orderStatus, order.paidAmt.toFixed(2)]).toEqual([status, text(left)]);
    expect(order.payments.map(({ refundedAmt }) => refundedAmt.toFixed(2)).sort()).toEqual(
      payments.map(({ refunded }) => text(refunded)).sort(),
    );
    expect(order.payments.every(({ amount, refundedAmt }) => refundedAmt.lessThanOrEqualTo(amount))).toBe(true);
  }
}

it(`keeps exact sums after random payments and refunds, and never refunds more than a payment: ${lives} orders`, async () => {
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), live), { numRuns: lives });
}, 600_000);

it('the database rejects sums that differ from those of payments and refunds', async () => {
  const { order_no } = await completedEncounter(harness, partner);
  await act((transaction) => recordPayment(transaction, order_no, { amount: '100.00' }));
  const { db } = harness.domain;
  const { tenantId } = partner;
  const { id } = await db.prisma.order.findFirstOrThrow({ where: { tenantId, orderNo: order_no } });
  const where = { tenantId, orderId: id };
  const change = (data: { amount?: string; refundedAmt?: string }) => db.prisma.payment.updateMany({ where, data });
  const end = (orderStatus: 'refunded' | 'cancelled') =>
    db.prisma.order.updateMany({ where: { tenantId, id }, data: { orderStatus } });
  await expect(change({ refundedAmt: '1.00' })).rejects.toThrow(/sums of an order/);
  await expect(change({ refundedAmt: '100.01' })).rejects.toThrow(/payment_refunded/);
  await expect(change({ amount: '99.99' })).rejects.toThrow(/sums of an order/);
  for (const status of ['refunded', 'cancelled'] as const) await expect(end(status)).rejects.toThrow(/order_ended/);
});
