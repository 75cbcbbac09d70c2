import { Prisma, type Order, type OrderLine, type Payment, type Refund } from '../../../generated/prisma/client.js';

/** The price and shipping of a treatment: frozen, or today's for a reorder. */
interface PricedTreatment {
  readonly price: Prisma.Decimal;
  readonly shippingType: string;
  readonly shippingAmount: Prisma.Decimal;
}

/** The amounts of an estimate or an order. */
export type Amounts = Pick<Order, 'subTotal' | 'totalShippingAmt' | 'grandTotal'>;

/** Sums the amounts of treatments, one unit of each. */
export function amountsOf(treatments: readonly PricedTreatment[]): Amounts {
  const subTotal = sum(treatments.map(({ price }) => price));
  const totalShippingAmt = sum(treatments.map(shippingOf));
  return { subTotal, totalShippingAmt, grandTotal: subTotal.plus(totalShippingAmt) };
}

/** The amounts of an order line. */
export function lineAmountsOf(treatment: PricedTreatment) {
  const shippingAmt = shippingOf(treatment);
  return { quantity: 1, unitPrice: treatment.price, shippingAmt, lineTotal: shippingAmt.plus(treatment.price) };
}

/** An order with everything that its amounts and status depend on. */
interface OrderWithParts extends Amounts {
  readonly lines: readonly Pick<OrderLine, 'holdAt' | 'status' | 'unitPrice'>[];
  readonly payments: readonly Pick<Payment, 'amount'>[];
  readonly refunds: readonly Pick<Refund, 'amount'>[];
}

/** The columns of an order that its lines, payments and refunds decide. */
export type Settlement = Pick<
  Order,
  'paidAmt' | 'refundedAmt' | 'heldAmt' | 'balanceAmt' | 'refundableAmt' | 'orderStatus'
>;

/** The lines that are not cancelled. */
export const openLines = <Line extends Pick<OrderLine, 'status'>>(lines: readonly Line[]): Line[] =>
  lines.filter(({ status }) => status !== 'cancelled');

/** The one formula of money: amounts and status follow from lines, payments and refunds. */
export function settlementOf({ lines, payments, refunds, totalShippingAmt, grandTotal }: OrderWithParts): Settlement {
  const open = openLines(lines);
  const dueLines = open.filter(({ holdAt }) => holdAt === null);
  // Shipping is one amount for the whole order: it is due while any line is due.
  const due = sum([...dueLines.map(({ unitPrice }) => unitPrice), dueLines.length > 0 ? totalShippingAmt : zero]);
  const received = sum(payments.map(({ amount }) => amount));
  const returned = sum(refunds.map(({ amount }) => amount));
  const paidAmt = received.minus(returned);
  const balanceAmt = Prisma.Decimal.max(0, due.minus(received));
  return {
    paidAmt,
    refundedAmt: returned,
    heldAmt: sum(open.filter(({ holdAt }) => holdAt !== null).map(({ unitPrice }) => unitPrice)),
    balanceAmt,
    refundableAmt: Prisma.Decimal.max(0, paidAmt.minus(due)),
    orderStatus: statusOf(open.length, received, paidAmt, balanceAmt, grandTotal),
  };
}

function statusOf(
  openLines: number,
  received: Prisma.Decimal,
  paidAmt: Prisma.Decimal,
  balanceAmt: Prisma.Decimal,
  grandTotal: Prisma.Decimal,
): Order['orderStatus'] {
  if (openLines === 0) return 'cancelled';
  if (!received.isZero() && paidAmt.isZero()) return 'refunded';
  return balanceAmt.isZero() && (!received.isZero() || grandTotal.isZero()) ? 'paid' : 'pending';
}

/** The order with the amounts and the status that its parts give it. */
export const settled = <O extends OrderWithParts>(order: O): O & Settlement => ({ ...order, ...settlementOf(order) });

const zero = new Prisma.Decimal(0);

/** The shipping amount, which does not count for FREE_SHIPPING. */
function shippingOf({ shippingType, shippingAmount }: PricedTreatment): Prisma.Decimal {
  return shippingType === 'FLAT_RATE' ? shippingAmount : zero;
}

/** Adds amounts without rounding. */
export const sum = (amounts: readonly Prisma.Decimal[]): Prisma.Decimal =>
  amounts.reduce((total, amount) => total.plus(amount), zero);
