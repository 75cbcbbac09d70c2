import { Prisma } from '../../../generated/prisma/client.js';
import { fieldProblem, invalidState, Problem } from '../../problem.js';
import type { Bodies } from '../../contract.js';
import { approvalEnded, lockedOrder } from './holds.js';
import { balanceOf, settled } from './money.js';
import { getOrder, MAX_PAYMENTS, ofPharmacies, recordOrderEvent, type OrderRecord } from './orders.js';
import { insertRows, updateRows } from '../transactions/rows.js';
import type { CallerContext } from '../transactions/transaction.js';

/**
 * Records money that was paid elsewhere. Concurrent payments run one after the other, so their sum cannot exceed
 * the balance.
 * @param id of the payment; set only by the fixtures of a sandbox
 * @param amount decimal text above zero, with at most two places
 * @throws Problem order_not_found, clinic_not_permitted; approval_ended if every line is held; invalid_state unless the
 * order is pending; payment_exceeds_balance; too_many_records
 */
export async function recordPayment(
  context: CallerContext,
  orderNo: string,
  { amount, reference }: Bodies['RecordPaymentRequest'],
  id = context.newId(),
): Promise<OrderRecord> {
  const { db, caller } = context;
  const order = await lockedOrder(context, orderNo);
  if (order.lines.every(({ holdAt }) => holdAt !== null)) {
    const { lines } = ofPharmacies(context, order);
    throw approvalEnded(lines, lines);
  }
  if (order.orderStatus !== 'pending') throw invalidState(order.orderStatus);
  if (balanceOf(order).lessThan(amount)) {
    throw fieldProblem('payment_exceeds_balance', '#/amount', 'exceeds the balance of the order');
  }
  if (order.payments.length + order.refunds.length >= MAX_PAYMENTS) throw new Problem('too_many_records');
  const now = context.now();
  const { tenantId, id: orderId } = order;
  const { paidAmt, heldAmt, orderStatus } = settled({ ...order, paidAmt: order.paidAmt.plus(amount) });
  const payment = { id, orderId, amount: new Prisma.Decimal(amount), reference: reference ?? null, createdAt: now };
  await insertRows(db, tenantId, 'Payment', [{ apiClientId: caller.apiClientId, ...payment }]);
  const change = { paidAmt, heldAmt, orderStatus, updatedAt: now };
  await updateRows(db, tenantId, 'Order', change, Prisma.sql`id = ${orderId}::uuid`);
  const changed = await getOrder(context, orderNo);
  recordOrderEvent(context, changed.orderStatus === 'paid' ? 'order.paid' : 'order.updated', changed);
  return changed;
}
