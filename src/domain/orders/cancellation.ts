import { invalidState } from '../../problem.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';
import { lockedOrder, recordElapsedHolds } from './holds.js';
import { endOrder, findOrder, lockOrder, ofPharmacies, recordOrderEvent, type OrderRecord } from './orders.js';

/**
 * Cancels an order without payments and shipments for the operator.
 * @throws Error when there is no such order, or it cannot be cancelled
 */
export async function cancelOrderOf(
  context: TransactionContext,
  tenantId: string,
  orderNo: string,
): Promise<OrderRecord> {
  await lockOrder(context, tenantId, orderNo);
  const found = await findOrder(context, tenantId, orderNo);
  if (!found) throw new Error(`The tenant ${tenantId} has no order ${JSON.stringify(orderNo)}.`);
  const order = await recordElapsedHolds(context, found);
  const obstacle = obstacleTo(order);
  if (obstacle !== null) throw new Error(`${order.orderNo} cannot be cancelled: ${obstacle}.`);
  return cancel(context, order, null);
}

/** Cancels an order for a caller. @throws Problem order_not_found, clinic_not_permitted, invalid_state */
export async function cancelOrder(context: CallerContext, orderNo: string, reason: string): Promise<OrderRecord> {
  const order = await lockedOrder(context, orderNo);
  const obstacle = obstacleTo(order);
  if (obstacle !== null) throw invalidState(order.orderStatus, `The order cannot be cancelled: ${obstacle}.`);
  return ofPharmacies(context, await cancel(context, order, reason));
}

/** Why an order cannot be cancelled; null = it can. One that is paid without any payment can if all lines are held. */
function obstacleTo({ orderStatus, paidAmt, lines }: OrderRecord): string | null {
  const isMoot = orderStatus === 'paid' && lines.every(({ holdAt }) => holdAt !== null);
  if (orderStatus !== 'pending' && !(isMoot && paidAmt.isZero())) return `it is ${orderStatus}`;
  if (!paidAmt.isZero()) return `${paidAmt.toFixed(2)} of it is paid`;
  return lines.some(({ shippedAt }) => shippedAt !== null) ? 'a line of it has shipped' : null;
}

async function cancel(
  context: TransactionContext,
  order: OrderRecord,
  cancelReason: string | null,
): Promise<OrderRecord> {
  const change = { orderStatus: 'cancelled', cancelReason, updatedAt: context.now() } as const;
  await endOrder(context, order, change);
  const cancelled = { ...order, ...change };
  recordOrderEvent(context, 'order.cancelled', cancelled);
  return cancelled;
}
