import { Problem } from '../../problem.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';
import { findOrder, getOrder, recordOrderEvent, type OrderRecord } from './orders.js';

/**
 * Cancels an order of which nothing is paid and nothing was shipped, for the operator.
 * @throws Error when there is no such order, or it cannot be cancelled
 */
export async function cancelOrderOf(
  context: TransactionContext,
  tenantId: string,
  orderNo: string,
): Promise<OrderRecord> {
  const isCancelled = await cancel(context, tenantId, orderNo, null);
  const order = await findOrder(context, tenantId, orderNo);
  if (!order) throw new Error(`The tenant ${tenantId} has no order ${JSON.stringify(orderNo)}.`);
  if (!isCancelled) throw new Error(`${order.orderNo} cannot be cancelled: ${whyNot(order)}.`);
  recordOrderEvent(context, 'order.cancelled', order);
  return order;
}

/**
 * The same for a caller.
 * @throws Problem order_not_found, clinic_not_permitted, invalid_state
 */
export async function cancelOrder(context: CallerContext, orderNo: string, reason: string): Promise<OrderRecord> {
  const { tenantId } = await getOrder(context, orderNo);
  const isCancelled = await cancel(context, tenantId, orderNo, reason);
  const order = await getOrder(context, orderNo);
  if (!isCancelled) throw new Problem('invalid_state', `It cannot be cancelled: ${whyNot(order)}.`, stateOf(order));
  recordOrderEvent(context, 'order.cancelled', order);
  return order;
}

/** @returns whether it was possible */
async function cancel(
  context: TransactionContext,
  tenantId: string,
  orderNo: string,
  cancelReason: string | null,
): Promise<boolean> {
  const shipped = { fulfilments: { some: { tenantId, shippedAt: { not: null } } } };
  const open = { orderStatus: 'pending', paidAmt: 0 } as const;
  const { count } = await context.db.order.updateMany({
    where: { tenantId, orderNo: orderNo.toUpperCase(), ...open, NOT: shipped },
    data: { orderStatus: 'cancelled', cancelReason, updatedAt: context.now() },
  });
  return count > 0;
}

function whyNot({ orderStatus, paidAmt }: OrderRecord): string {
  if (orderStatus !== 'pending') return `it is ${orderStatus}`;
  return paidAmt.isZero() ? 'something was shipped' : `${paidAmt.toFixed(2)} of it is paid`;
}

const stateOf = ({ orderStatus }: OrderRecord) => ({ extra: { current_status: orderStatus } });
