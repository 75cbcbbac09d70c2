import { Prisma } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { fieldProblem, invalidState, Problem } from '../../problem.js';
import { insertRows, updateRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';
import { lockedOrder } from './holds.js';
import { settled } from './money.js';
import { endOrder, getOrder, MAX_PAYMENTS, recordOrderEvent, type OrderRecord } from './orders.js';

/**
 * Records a refund, in full or in part, that was paid out elsewhere. Payments and refunds of one order run one
 * after the other. A paid order stays paid until all its payments are refunded.
 * @throws Problem order_not_found, clinic_not_permitted, payment_not_found; invalid_state if the order is final;
 * refund_exceeds_payment; too_many_records
 */
export async function refundPayment(
  context: CallerContext,
  orderNo: string,
  { payment_id, amount, reason }: Bodies['RefundPaymentRequest'],
): Promise<OrderRecord> {
  const { db, caller } = context;
  const order = await lockedOrder(context, orderNo);
  const { tenantId, id: orderId, orderStatus } = order;
  const payment = order.payments.find(({ id }) => id === canonicalUuid(payment_id));
  if (!payment) throw fieldProblem('payment_not_found', '#/payment_id', 'is not a payment of this order');
  if (orderStatus !== 'pending' && orderStatus !== 'paid') throw invalidState(orderStatus);
  if (payment.amount.minus(payment.refundedAmt).lessThan(amount)) {
    throw fieldProblem(
      'refund_exceeds_payment',
      '#/amount',
      'exceeds the part of the payment that is not refunded yet',
    );
  }
  if (order.payments.length + order.refunds.length >= MAX_PAYMENTS) throw new Problem('too_many_records');
  const { paidAmt, heldAmt } = settled({ ...order, paidAmt: order.paidAmt.minus(amount) });
  const isOver = orderStatus === 'paid' && paidAmt.isZero();
  const now = context.now();
  const refund = { id: context.newId(), orderId, paymentId: payment.id, reason, createdAt: now };
  await insertRows(db, tenantId, 'Refund', [
    { amount: new Prisma.Decimal(amount), apiClientId: caller.apiClientId, ...refund },
  ]);
  const refundedAmt = payment.refundedAmt.plus(amount);
  await updateRows(db, tenantId, 'Payment', { refundedAmt }, Prisma.sql`id = ${payment.id}::uuid`);
  const change = { paidAmt, heldAmt, updatedAt: now };
  await updateRows(db, tenantId, 'Order', change, Prisma.sql`id = ${orderId}::uuid`);
  if (isOver) await endOrder(context, order, { orderStatus: 'refunded' });
  const refunded = await getOrder(context, orderNo);
  recordOrderEvent(context, 'order.refunded', refunded);
  return refunded;
}
