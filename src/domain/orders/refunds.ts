import { Prisma } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { fieldProblem, invalidState, Problem } from '../../problem.js';
import { insertRows, updateRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';
import { getOrder, isShipped, lockOrder, MAX_PAYMENTS, recordOrderEvent, type OrderRecord } from './orders.js';

/**
 * Records a refund, in full or in part, that was paid out elsewhere. Payments and refunds of one order serialize.
 * @throws Problem order_not_found, clinic_not_permitted, payment_not_found; invalid_state when the order is final, or would
 * be `refunded` although something was shipped; refund_exceeds_payment; too_many_records
 */
export async function refundPayment(
  context: CallerContext,
  orderNo: string,
  { payment_id, amount, reason }: Bodies['RefundPaymentRequest'],
): Promise<OrderRecord> {
  const { db, caller } = context;
  await lockOrder(context, caller.tenantId, orderNo);
  const order = await getOrder(context, orderNo);
  const { tenantId, id: orderId, orderStatus } = order;
  const payment = order.payments.find(({ id }) => id === canonicalUuid(payment_id));
  if (!payment) throw fieldProblem('payment_not_found', '#/payment_id', 'is not a payment of this order');
  if (orderStatus !== 'pending' && orderStatus !== 'paid') throw invalidState(orderStatus);
  if (payment.amount.minus(payment.refundedAmt).lessThan(amount)) {
    throw fieldProblem('refund_exceeds_payment', '#/amount', 'is above what is left of the payment');
  }
  if (order.payments.length + order.refunds.length >= MAX_PAYMENTS) throw new Problem('too_many_records');
  const paidAmt = order.paidAmt.minus(amount);
  const isOver = paidAmt.isZero() && order.paidAt !== null;
  if (isOver && (await isShipped(context, order))) throw invalidState('shipped');
  const now = context.now();
  const refund = { id: context.newId(), orderId, paymentId: payment.id, reason, createdAt: now };
  await insertRows(db, tenantId, 'Refund', [
    { amount: new Prisma.Decimal(amount), apiClientId: caller.apiClientId, ...refund },
  ]);
  const refundedAmt = payment.refundedAmt.plus(amount);
  await updateRows(db, tenantId, 'Payment', { refundedAmt }, Prisma.sql`id = ${payment.id}::uuid`);
  const change = { paidAmt, orderStatus: isOver ? ('refunded' as const) : ('pending' as const), updatedAt: now };
  await updateRows(db, tenantId, 'Order', change, Prisma.sql`id = ${orderId}::uuid`);
  const refunded = await getOrder(context, orderNo);
  recordOrderEvent(context, 'order.refunded', refunded);
  return refunded;
}
