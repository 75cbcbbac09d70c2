import fc from 'fast-check';
import { randomInt } from 'node:crypto';
import { getOrder as readOrder } from '../../../src/domain/orders/orders.js';
import { balanceOf } from '../../../src/domain/orders/money.js';
import { recordPayment } from '../../../src/domain/orders/payments.js';
import { refundPayment } from '../../../src/domain/orders/refunds.js';
import { inCallerTransaction, type CallerContext } from '../../../src/domain/transactions/transaction.js';
import { Problem } from '../../../src/problem.js';
import {
  encounterBody,
  newEncounter,
  newPartner,
  newProduct,
  type EncounterBody,
  type Partner,
} from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { eventsAbout, getOrder, orderEvents, pay } from '../../support/orders.js';
import { callerContext } from '../../support/patientLives.js';
import { approve, completedEncounter, deny, reviewed } from '../../support/reviews.js';

let harness: Harness;
let partner: Partner;
let body: EncounterBody;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  body = await encounterBody(harness, partner);
});
afterAll(() => harness.close());

/** Money in whole cents, so that the model has no decimals. */
type Cents = bigint;
const inText = (cents: Cents): string => `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
/** The inverse of `inText`. */
const inCents = (text: string): Cents => BigInt(text.replace('.', ''));
const sumOf = (amounts: readonly Cents[]): Cents => amounts.reduce((sum, amount) => sum + amount, 0n);

interface Offer {
  readonly price: Cents;
  readonly shippingAmount: Cents;
  readonly shippingType: 'FLAT_RATE' | 'FREE_SHIPPING';
}

/** Amounts that binary fractions get wrong, the extremes of the catalog, and random ones. */
const cents = fc.oneof(
  fc.constantFrom(0n, 1n, 10n, 20n, 70n, 110n, 1_999n, 999_999_999_999n),
  fc.bigInt({ min: 0n, max: 999_999_999_999n }),
);
const offers: fc.Arbitrary<Offer> = fc.record({
  price: cents,
  shippingAmount: cents,
  shippingType: fc.constantFrom('FLAT_RATE' as const, 'FREE_SHIPPING' as const),
});

/** The money of an order in getOrder (text) and getEncounterStatus (numbers). */
async function moneyOf(orderNo: string): Promise<Record<'record' | 'numbers', Record<string, unknown>>> {
  const json = { order_no: orderNo };
  const { body: order } = await getOrder(harness, partner, orderNo);
  const { body: status } = await call(harness, 'POST /encounters/status', { token: partner.token, json });
  const keys = ['sub_total', 'total_shipping_amt', 'grand_total', 'paid_amt', 'balance_amt'] as const;
  const { order_no, order_status, created_date, sub_total, total_shipping_amt, grand_total } = order;
  expect(status.order_details).toMatchObject({ order_no, order_status, created_date });
  const lines: readonly Readonly<Record<string, string>>[] = order.lines;
  const total = (key: string): string => inText(sumOf(lines.map((line) => inCents(line[key] ?? ''))));
  const totals = ['unit_price', 'shipping_amt', 'line_total'].map(total);
  expect(totals).toEqual([sub_total, total_shipping_amt, grand_total]);
  const pick = (from: Record<string, unknown>) => Object.fromEntries(keys.map((key) => [key, from[key]]));
  return { record: pick(order), numbers: pick(status.order_details) };
}

type Money = Readonly<Record<'sub_total' | 'total_shipping_amt' | 'grand_total', Cents>>;

function expected(approved: readonly Offer[]): Money {
  const subTotal = sumOf(approved.map(({ price }) => price));
  const shipping = sumOf(approved.map((offer) => (offer.shippingType === 'FLAT_RATE' ? offer.shippingAmount : 0n)));
  return { sub_total: subTotal, total_shipping_amt: shipping, grand_total: subTotal + shipping };
}

function expectMoney({ record, numbers }: Awaited<ReturnType<typeof moneyOf>>, money: Money, paid: Cents): void {
  const amounts = { ...money, paid_amt: paid, balance_amt: money.grand_total - paid };
  const inTexts = Object.entries(amounts).map(([name, amount]) => [name, inText(amount)] as const);
  expect(record).toEqual(Object.fromEntries(inTexts));
  expect(numbers).toEqual(Object.fromEntries(inTexts.map(([name, text]) => [name, Number(text)])));
}

it('the money of an order is exact to the cent for every cart, every decision and every part payment', async () => {
  // Products and carts share one seed, which fast-check prints on failure; MONEY_SEED repeats it.
  const seed = Number(process.env['MONEY_SEED'] ?? randomInt(2 ** 31));
  const shelf = await Promise.all(
    fc.sample(offers, { numRuns: 24, seed }).map(async ({ shippingType, ...offer }) => {
      const [price, shippingAmount] = [inText(offer.price), inText(offer.shippingAmount)];
      const id = await newProduct(harness, partner, { price, shippingAmount, shippingType });
      return { ...offer, shippingType, id };
    }),
  );
  const chosen = fc.record({ position: fc.nat(shelf.length - 1), isApproved: fc.boolean() });
  const carts = fc.uniqueArray(chosen, { selector: ({ position }) => position, minLength: 1, maxLength: 12 });
  const shares = fc.array(fc.integer({ min: 1, max: 99 }), { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(carts, shares, async ([first, ...rest], percentages) => {
      if (!first) return;
      const cart = [{ ...first, isApproved: true }, ...rest];
      const products = cart.flatMap(({ position, isApproved }) => {
        const product = shelf[position];
        return product ? [{ ...product, isApproved }] : [];
      });
      const treatmentIds = products.map(({ id }) => id);
      const encounter = await newEncounter(harness, partner, { ...body, treatmentIds });
      const { order_no: orderNo } = await reviewed(harness, partner, encounter, (item, index) =>
        (products[index]?.isApproved ? approve : deny)(item, index),
      );
      const money = expected(products.filter(({ isApproved }) => isApproved));
      let balance = money.grand_total;
      for (const percentage of percentages) {
        const part = (balance * BigInt(percentage)) / 100n;
        // A payment must not exceed 9,999,999,999.99; the largest carts cost more.
        if (part === 0n || part > 999_999_999_999n) continue;
        balance -= part;
        const { status, body: order } = await pay(harness, partner, orderNo, { amount: inText(part) });
        expect([status, order.balance_amt]).toEqual([201, inText(balance)]);
      }
      expectMoney(await moneyOf(orderNo), money, money.grand_total - balance);
      const [last] = (await eventsAbout(harness, partner, { order_no: orderNo }, ...orderEvents)).reverse();
      expect(last?.data).toMatchObject({ grand_total: inText(money.grand_total), balance_amt: inText(balance) });
    }),
    { numRuns: 50, seed },
  );
});

it('an order of free treatments is created as paid (scenario D)', async () => {
  const free = await newProduct(harness, partner, { price: '0.00', shippingType: 'FREE_SHIPPING' });
  const { order_no: orderNo, estimate } = await completedEncounter(harness, partner, { ...body, treatmentIds: [free] });
  expect(estimate).toEqual({ sub_total: 0, total_shipping_amt: 0, grand_total: 0, currency: 'USD' });
  const amounts = { grand_total: '0.00', paid_amt: '0.00', balance_amt: '0.00' };
  const { body: order } = await getOrder(harness, partner, orderNo);
  expect(order).toMatchObject({ order_status: 'paid', ...amounts, payments: [] });
  const events = await eventsAbout(harness, partner, { order_no: orderNo }, ...orderEvents);
  expect(events.map(({ type }) => type)).toEqual(['order.created', 'order.paid']);
});

// Compares random payments and refunds of an order with a model in cents.

/** The number of orders; MONEY_LIVES=300 tests more of them. */
const lives = Number(process.env['MONEY_LIVES'] ?? 15);
const TOTAL = 25_500;

type Step = { readonly kind: 'pay' | 'refund'; readonly cents: number; readonly paymentIndex: number };

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('pay', 'refund'),
  cents: fc.oneof(fc.integer({ min: 1, max: 26_000 }), fc.constantFrom(1, 8_500, 12_750, 25_499, 25_500)),
  paymentIndex: fc.nat(9),
});

const act = async <T>(work: (transaction: CallerContext) => Promise<T>): Promise<T> =>
  inCallerTransaction(await callerContext(harness, partner, () => new Date()), work);
const text = (amount: number): string => (amount / 100).toFixed(2);
const codeOf = (error: unknown): string => (error instanceof Problem ? error.code : String(error));

async function live(steps: readonly Step[]): Promise<void> {
  const { order_no } = await completedEncounter(harness, partner);
  const payments: { id: string; amount: number; refunded: number }[] = [];
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
    const order = await readOrder(await callerContext(harness, partner, () => new Date()), order_no);
    if (kind === 'pay') payments.push({ id: order.payments.at(-1)?.id ?? '', amount: cents, refunded: 0 });
    else if (payment) payment.refunded += cents;
    const left = payments.reduce((sum, { amount, refunded }) => sum + amount - refunded, 0);
    if (left === TOTAL) status = 'paid';
    else if (left === 0 && status === 'paid') status = 'refunded';
    const balance = status === 'pending' ? TOTAL - left : 0;
    const money = [order.paidAmt, balanceOf(order)].map((amount) => amount.toFixed(2));
    expect([order.orderStatus, ...money]).toEqual([status, text(left), text(balance)]);
    expect(order.payments.map(({ refundedAmt }) => refundedAmt.toFixed(2)).sort()).toEqual(
      payments.map(({ refunded }) => text(refunded)).sort(),
    );
    expect(order.payments.every(({ amount, refundedAmt }) => refundedAmt.lessThanOrEqualTo(amount))).toBe(true);
  }
}

it(`orders keep exact sums after random payments and refunds, and never refund more than a payment: ${lives} orders`, async () => {
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
