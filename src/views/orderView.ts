import type { OrderLine, Payment, Refund } from '../../generated/prisma/client.js';
import type { Schemas } from '../contract.js';
import { changedSinceApproval, type OrderRecord } from '../domain/orders/orders.js';
import { createdDate, priceText, timestamp } from './values.js';

/** An order; amounts are decimal text with two places. */
export function orderView(order: OrderRecord): Schemas['Order'] {
  return {
    id: order.id,
    order_no: order.orderNo,
    encounter_id: Number(order.encounter.encounterNo),
    patientId: order.encounter.patientId,
    reference: order.encounter.reference,
    order_status: order.orderStatus,
    currency: order.currency,
    sub_total: priceText(order.subTotal),
    total_shipping_amt: priceText(order.totalShippingAmt),
    grand_total: priceText(order.grandTotal),
    paid_amt: priceText(order.paidAmt),
    refunded_amt: priceText(order.refundedAmt),
    held_amt: priceText(order.heldAmt),
    balance_amt: priceText(order.balanceAmt),
    refundable_amt: priceText(order.refundableAmt),
    created_date: createdDate(order.createdAt),
    createdAt: order.createdAt.toISOString(),
    updatedAt: order.updatedAt.toISOString(),
    cancelReason: order.cancelReason,
    changedSinceApproval: changedSinceApproval(order),
    lines: order.lines.map(lineView),
    payments: order.payments.map(paymentView),
    refunds: order.refunds.map(refundView),
  };
}

function lineView(line: OrderLine): Schemas['OrderLine'] {
  return {
    treatmentId: line.productId,
    sku: line.sku,
    name: line.name,
    quantity: line.quantity,
    unit_price: priceText(line.unitPrice),
    shippingType: line.shippingType,
    shipping_amt: priceText(line.shippingAmt),
    line_total: priceText(line.lineTotal),
    pharmacyId: line.pharmacyId,
    pharmacyName: line.pharmacyName,
    fulfilment: fulfilmentView(line),
    hold: holdView(line),
    recalledAt: timestamp(line.recalledAt),
  };
}

export function fulfilmentView({
  status,
  carrier,
  trackingNumber,
  reason,
  updatedAt,
}: OrderLine): Schemas['Fulfilment'] {
  return { status, carrier, trackingNumber, reason, updatedAt: updatedAt.toISOString() };
}

function holdView({ holdReason, holdAt }: OrderLine): Schemas['LineHold'] {
  return holdReason && holdAt ? { reason: holdReason, at: holdAt.toISOString() } : null;
}

function paymentView({ id, amount, refundedAmt, reference, createdAt }: Payment): Schemas['Payment'] {
  const refunded_amt = priceText(refundedAmt);
  return { id, amount: priceText(amount), refunded_amt, reference, createdAt: createdAt.toISOString() };
}

function refundView({ id, paymentId, amount, reason, createdAt }: Refund): Schemas['Refund'] {
  return { id, payment_id: paymentId, amount: priceText(amount), reason, createdAt: createdAt.toISOString() };
}
