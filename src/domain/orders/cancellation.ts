import { Prisma } from '../../../generated/prisma/client.js';
import { invalidState } from '../../problem.js';
import { updateRows } from '../transactions/rows.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';
import {
  findOrder,
  getOrder,
  isShipped,
  lockOrder,
  ofPharmacies,
  recordOrderEvent,
  type OrderRecord,
} from './orders.js';

/**
 * Cancels an unpaid and unshipped order for the operator.
 * @throws Error when there is no such order, or it cannot be cancelled
 */
export async function cancelOrderOf(
  context: TransactionContext,
  tenantId: string,
  orderNo: string,
): Promise<OrderRecord> {
  await lockOrder(context, tenantId, orderNo);
  const order = await findOrder(context, tenantId, orderNo);
  if (!order) throw new Error(`The tenant ${tenantId} has no order ${JSON.stringify(orderNo)}.`);
  const obstacle = await obstacleTo(context, order);
  if (obstacle !== null) throw new Error(`${order.orderNo} cannot be cancelled: ${obstacle}.`);
  return cancel(context, order, null);
}

/** The same for a caller. @throws Problem order_not_found, clinic_not_permitted, invalid_state */
export async function cancelOrder(context: CallerContext, orderNo: string, reason: string): Promise<OrderRecord> {
  await lockOrder(context, context.caller.tenantId, orderNo);
  const order = await getOrder(context, orderNo);
  const obstacle = await obstacleTo(context, order);
  if (obstacle !== null) throw invalidState(order.orderStatus, `It cannot be cancelled: ${obstacle}.`);
  return ofPharmacies(context, await cancel(context, order, reason));
}

/** Why an order cannot be cancelled; null = it can. */
async function obstacleTo(context: TransactionContext, order: OrderRecord): Promise<string | null> {
  const { orderStatus, paidAmt } = order;
  if (orderStatus !== 'pending') return `it is ${orderStatus}`;
  if (!paidAmt.isZero()) return `${paidAmt.toFixed(2)} of it is paid`;
  return (await isShipped(context, order)) ? 'something was shipped' : null;
}

async function cancel(
  context: TransactionContext,
  order: OrderRecord,
  cancelReason: string | null,
): Promise<OrderRecord> {
  const change = { orderStatus: 'cancelled', cancelReason, updatedAt: context.now() } as const;
  await updateRows(context.db, order.tenantId, 'Order', change, Prisma.sql`id = ${order.id}::uuid`);
  const cancelled = { ...order, ...change };
  recordOrderEvent(context, 'order.cancelled', cancelled);
  return cancelled;
}
