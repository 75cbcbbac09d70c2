import fc from 'fast-check';
import { randomInt } from 'node:crypto';
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

describe('the money of an order', () => {
  it('is exact to the cent for every cart, every decision and every part payment', async () => {
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
});

it('an order of free treatments is created as paid (scenario D)', async () => {
  const free = await newProduct(harness, partner, { price: '0.00', shippingType: 'FREE_SHIPPING' });
  const { order_no: orderNo } = await completedEncounter(harness, partner, { ...body, treatmentIds: [free] });
  const amounts = { grand_total: '0.00', paid_amt: '0.00', balance_amt: '0.00' };
  const { body: order } = await getOrder(harness, partner, orderNo);
  expect(order).toMatchObject({ order_status: 'paid', ...amounts, payments: [] });
  const events = await eventsAbout(harness, partner, { order_no: orderNo }, ...orderEvents);
  expect(events.map(({ type }) => type)).toEqual(['order.created', 'order.paid']);
});
