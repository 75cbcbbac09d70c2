import { Prisma } from '../../../generated/prisma/client.js';
import { fieldProblem, invalidState, Problem } from '../../problem.js';
import type { Bodies } from '../../contract.js';
import type { Decision, Moment } from '../transactions/changes.js';
import type { CallerContext } from '../transactions/transaction.js';
import { canonicalUuid } from '../transactions/uuid.js';
import { orderCommand, type OrderState } from './command.js';
import { approvalEnded } from './holds.js';
import { openLines, settled } from './money.js';
import { MAX_PAYMENTS, ofPharmacies, orderEvent, type OrderRecord } from './orders.js';

/**
 * Records money that was paid elsewhere. Concurrent payments run one after the other, so their sum cannot exceed
 * the balance.
 * @param id of the payment; set only by the fixtures of a sandbox
 * @throws Problem as {@link decidePayment}, and order_not_found, clinic_not_permitted
 */
export const recordPayment = (
  context: CallerContext,
  orderNo: string,
  body: Bodies['RecordPaymentRequest'],
  id?: string,
): Promise<OrderRecord> => orderCommand(context, orderNo, (state, at) => decidePayment(state, body, at, id));

/**
 * @param amount decimal text above zero, with at most two places
 * @throws Problem approval_ended if all lines that are not cancelled are held; invalid_state if nothing is left to pay;
 * payment_exceeds_balance; too_many_records
 */
export function decidePayment(
  { order }: OrderState,
  { amount: text, reference }: Bodies['RecordPaymentRequest'],
  at: Moment,
  id = at.newId(),
): Decision<OrderRecord> {
  const amount = new Prisma.Decimal(text);
  const open = openLines(order.lines);
  if (open.length > 0 && open.every(({ holdAt }) => holdAt !== null)) {
    const { lines } = ofPharmacies(at, order);
    throw approvalEnded(lines, openLines(lines));
  }
  if (order.balanceAmt.isZero()) throw invalidState(order.orderStatus, 'Nothing is left to pay; see balance_amt.');
  if (order.balanceAmt.lessThan(amount)) {
    throw fieldProblem('payment_exceeds_balance', '#/amount', 'exceeds the balance of the order');
  }
  refuseTooMany(order);
  const { tenantId, id: orderId } = order;
  const payment = {
    id,
    tenantId,
    orderId,
    amount,
    refundedAmt: new Prisma.Decimal(0),
    reference: reference ?? null,
    ...by(at),
  };
  const paid = settled({ ...order, updatedAt: at.now, payments: [...order.payments, payment] });
  return { state: paid, events: [orderEvent(paid.orderStatus === 'paid' ? 'order.paid' : 'order.updated', paid)] };
}

/**
 * Records a refund, in full or in part, that was paid out elsewhere.
 * @throws Problem as {@link decideRefund}, and order_not_found, clinic_not_permitted
 */
export const refundPayment = (
  context: CallerContext,
  orderNo: string,
  body: Bodies['RefundPaymentRequest'],
): Promise<OrderRecord> => orderCommand(context, orderNo, (state, at) => decideRefund(state, body, at));

/** @throws Problem payment_not_found; invalid_state if nothing is left to refund; refund_exceeds_payment; too_many_records */
export function decideRefund(
  { order }: OrderState,
  { payment_id, amount: text, reason }: Bodies['RefundPaymentRequest'],
  at: Moment,
): Decision<OrderRecord> {
  const amount = new Prisma.Decimal(text);
  const { tenantId, id: orderId } = order;
  const payment = order.payments.find(({ id }) => id === canonicalUuid(payment_id));
  if (!payment) throw fieldProblem('payment_not_found', '#/payment_id', 'is not a payment of this order');
  if (order.paidAmt.isZero()) throw invalidState(order.orderStatus, 'Nothing is left to refund; see paid_amt.');
  const refundedAmt = payment.refundedAmt.plus(amount);
  if (refundedAmt.greaterThan(payment.amount)) {
    throw fieldProblem(
      'refund_exceeds_payment',
      '#/amount',
      'exceeds the part of the payment that is not refunded yet',
    );
  }
  if (refundedAmt.lessThan(payment.amount)) refuseTooMany(order);
  const refund = { id: at.newId(), tenantId, orderId, paymentId: payment.id, amount, reason, ...by(at) };
  const refunded = settled({
    ...order,
    updatedAt: at.now,
    payments: order.payments.map((one) => (one === payment ? { ...payment, refundedAmt } : one)),
    refunds: [...order.refunds, refund],
  });
  return { state: refunded, events: [orderEvent('order.refunded', refunded)] };
}

function refuseTooMany({ payments, refunds }: OrderRecord): void {
  if (payments.length + refunds.length >= MAX_PAYMENTS) throw new Problem('too_many_records');
}

function by({ caller, now }: Moment) {
  if (!caller) throw new Error('a payment or refund needs a caller: pass one in its Moment');
  return { apiClientId: caller.apiClientId, createdAt: now };
}
