import { fieldProblem, invalidState, Problem } from '../../problem.js';
import type { Bodies } from '../../contract.js';
import { getOrder, MAX_PAYMENTS, ofPharmacies, orderDetails, recordOrderEvent, type OrderRecord } from './orders.js';
import type { CallerContext } from '../transactions/transaction.js';

/**
 * Records money that was paid elsewhere. Payments at the same time wait for one another, and what would be above
 * the balance then is refused.
 * @param amount decimal text above zero, with at most two places
 * @throws Problem order_not_found, clinic_not_permitted; invalid_state unless it is pending; payment_exceeds_balance;
 * too_many_records
 */
export async function recordPayment(
  context: CallerContext,
  orderNo: string,
  { amount, reference }: Bodies['RecordPaymentRequest'],
): Promise<OrderRecord> {
  const { db, caller } = context;
  const { tenantId, id } = await getOrder(context, orderNo);
  const taken = await db.$executeRaw`
    UPDATE "order" SET paid_amt = paid_amt + ${amount}::numeric,
      paid_at = CASE WHEN paid_amt + ${amount}::numeric = grand_total THEN ${context.now()} ELSE paid_at END,
      order_status = CASE WHEN paid_amt + ${amount}::numeric = grand_total THEN 'paid' ELSE 'pending' END::order_status
    WHERE tenant_id = ${tenantId} AND id = ${id}::uuid AND order_status = 'pending'
      AND paid_amt + ${amount}::numeric <= grand_total`;
  if (taken === 0) throw refusal(await getOrder(context, orderNo));
  const now = context.now();
  const paymentId = context.fixed?.payment?.id ?? context.newId();
  const payment = { amount, reference: reference ?? null, apiClientId: caller.apiClientId, createdAt: now };
  const order = await db.order.update({
    where: { tenantId_id: { tenantId, id } },
    data: { updatedAt: now, payments: { create: { id: paymentId, ...payment } } },
    include: orderDetails,
  });
  if (order.payments.length + order.refunds.length > MAX_PAYMENTS) throw new Problem('too_many_records');
  recordOrderEvent(context, order.orderStatus === 'paid' ? 'order.paid' : 'order.updated', order);
  return ofPharmacies(context, order);
}

/** Read again, as the payments that came first have left it. */
function refusal({ orderStatus }: OrderRecord): Problem {
  if (orderStatus !== 'pending') return invalidState(orderStatus);
  return fieldProblem('payment_exceeds_balance', '#/amount', 'is above the balance');
}
