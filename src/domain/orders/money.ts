import { Prisma, type Order } from '../../../generated/prisma/client.js';

/** The price of a treatment, frozen when the encounter is created (D-36), as exact decimals or decimal text. */
interface PricedTreatment {
  readonly price: Prisma.Decimal | string;
  readonly shippingType: string;
  readonly shippingAmount: Prisma.Decimal | string;
}

/** The amounts of an estimate or an order. */
export type Amounts = Pick<Order, 'subTotal' | 'totalShippingAmt' | 'grandTotal'>;

/** The sums over treatments, one unit of each (D-37; R-57). */
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

/** FREE_SHIPPING ignores the shipping amount. */
function shippingOf({ shippingType, shippingAmount }: PricedTreatment): Prisma.Decimal {
  return new Prisma.Decimal(shippingType === 'FLAT_RATE' ? shippingAmount : 0);
}

function sum(amounts: readonly (Prisma.Decimal | string)[]): Prisma.Decimal {
  return amounts.reduce<Prisma.Decimal>((total, amount) => total.plus(amount), new Prisma.Decimal(0));
}
