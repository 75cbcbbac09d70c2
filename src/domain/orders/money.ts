import { Prisma, type Order, type OrderLine } from '../../../generated/prisma/client.js';

/** The price of a treatment, as frozen when the encounter was created: exact decimals, or decimal text. */
interface PricedTreatment {
  readonly price: Prisma.Decimal | string;
  readonly shippingType: string;
  readonly shippingAmount: Prisma.Decimal | string;
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

/** What is left to pay: nothing for held lines, nor once the order was paid, because a refund is no debt. */
export function balanceOf({
  orderStatus,
  grandTotal,
  paidAmt,
  heldAmt,
}: Pick<Order, 'orderStatus' | 'grandTotal' | 'paidAmt' | 'heldAmt'>): Prisma.Decimal {
  const wasPaid = orderStatus === 'paid' || orderStatus === 'refunded';
  return wasPaid ? new Prisma.Decimal(0) : grandTotal.minus(paidAmt).minus(heldAmt);
}

/** An order with all of its lines. */
interface OrderWithLines extends Order {
  readonly lines: readonly OrderLine[];
}

/**
 * A pending order after a payment, refund or hold: nothing is due for held lines; the order becomes `paid` when nothing
 * is left to pay and at least one line is not held. Orders in other statuses stay unchanged.
 */
export function settled<O extends OrderWithLines>(order: O): O {
  if (order.orderStatus !== 'pending') return order;
  const due = order.grandTotal.minus(order.paidAmt);
  const isFree = ({ holdAt }: OrderLine): boolean => holdAt === null;
  const held = sum(order.lines.filter((line) => !isFree(line)).map(({ lineTotal }) => lineTotal));
  const heldAmt = Prisma.Decimal.min(held, due);
  return { ...order, heldAmt, orderStatus: heldAmt.equals(due) && order.lines.some(isFree) ? 'paid' : 'pending' };
}

/** The order with these lines held: from the end of their approval, or from now if that end is in the future. */
export function withHolds<O extends OrderWithLines>(
  order: O,
  lines: readonly OrderLine[],
  holdReason: NonNullable<OrderLine['holdReason']>,
  now: Date,
): O {
  const held = lines.map(({ id }) => id);
  return settled({
    ...order,
    lines: order.lines.map((line) => {
      if (!held.includes(line.id)) return line;
      const holdAt = line.expiresAt !== null && line.expiresAt < now ? line.expiresAt : now;
      return { ...line, holdReason, holdAt, expiresAt: null };
    }),
  });
}

/** The lines whose approval has expired while no sweep has recorded the hold yet. */
export function dueLines({ lines }: Pick<OrderWithLines, 'lines'>, now: Date): OrderLine[] {
  return lines.filter(({ expiresAt }) => expiresAt !== null && expiresAt <= now);
}

/** The shipping amount, which does not count for FREE_SHIPPING. */
function shippingOf({ shippingType, shippingAmount }: PricedTreatment): Prisma.Decimal {
  return new Prisma.Decimal(shippingType === 'FLAT_RATE' ? shippingAmount : 0);
}

/** Adds amounts without rounding. */
export function sum(amounts: readonly (Prisma.Decimal | string)[]): Prisma.Decimal {
  return amounts.reduce<Prisma.Decimal>((total, amount) => total.plus(amount), new Prisma.Decimal(0));
}
