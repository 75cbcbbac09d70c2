import { Prisma, type OrderLine } from '../../../generated/prisma/client.js';
import { invalidState } from '../../problem.js';
import type { Decision, Moment } from '../transactions/changes.js';
import type { CallerContext, LookupContext } from '../transactions/transaction.js';
import { orderCommand, type OrderState } from './command.js';
import { stopped } from './holds.js';
import { settled } from './money.js';
import { orderEvent, type OrderRecord } from './orders.js';

/**
 * Cancels an order.
 * @param reason null for the operator
 * @throws Problem order_not_found, clinic_not_permitted, invalid_state
 */
export const cancelOrder = (context: CallerContext, orderNo: string, reason: string | null): Promise<OrderRecord> =>
  orderCommand(context, orderNo, (state, at) => decideCancellation(state, reason, at));

/**
 * Cancels every line. @throws Problem invalid_state if the order is cancelled, a payment was recorded, or a line is
 * accepted or has ever shipped
 */
export function decideCancellation(
  { order }: OrderState,
  cancelReason: string | null,
  { now }: Moment,
): Decision<OrderRecord> {
  const obstacle = obstacleTo(order);
  if (obstacle !== null) throw invalidState(order.orderStatus, `The order cannot be cancelled: ${obstacle}.`);
  const cancelled = settled({
    ...order,
    cancelReason,
    updatedAt: now,
    lines: order.lines.map((line) =>
      line.status === 'cancelled' ? line : { ...line, status: 'cancelled' as const, expiresAt: null, updatedAt: now },
    ),
  });
  return { state: cancelled, events: [orderEvent('order.cancelled', cancelled)] };
}

/** Why an order cannot be cancelled; null = it can. */
function obstacleTo({ orderStatus, payments, paidAmt, lines }: OrderRecord): string | null {
  if (orderStatus === 'cancelled') return 'it is cancelled';
  if (payments.length > 0)
    return paidAmt.isZero() ? 'it is refunded' : `${paidAmt.toFixed(2)} of it is paid; refund that instead`;
  const taken = lines.find(({ status, shippedAt }) => status === 'accepted' || shippedAt !== null);
  if (!taken) return null;
  if (taken.shippedAt !== null) return 'a line of it has shipped';
  return 'a line of it is accepted, for which the pharmacy can report an exception first';
}

/** The lines of a recall: those of a product, of a provider's decisions, or of a clinic. */
export type Recall = { readonly sku: string } | { readonly reviewerRef: string } | { readonly clinicId: string };

/** The numbers of the orders with lines that a recall would stop. */
export async function ordersToStop({ db, caller }: LookupContext, recall: Recall): Promise<string[]> {
  const { tenantId } = caller;
  const orders = await db.of(tenantId).rows<{ orderNo: string }>`
    SELECT DISTINCT "order".order_no AS "orderNo" FROM order_line AS line
      JOIN "order" ON "order".tenant_id = line.tenant_id AND "order".id = line.order_id
      JOIN encounter ON encounter.tenant_id = "order".tenant_id AND encounter.id = "order".encounter_id
    WHERE line.tenant_id = ${tenantId} AND line.hold_at IS NULL AND line.recalled_at IS NULL AND line.status <> 'cancelled'
      AND ${recalledBy(recall)}
    ORDER BY "order".order_no`;
  return orders.map(({ orderNo }) => orderNo);
}

/** Stops lines of an order for the operator: recalls shipped and delivered ones, and holds other open ones. */
export const stopLines = (context: CallerContext, orderNo: string, recall: Recall): Promise<OrderRecord> =>
  orderCommand(context, orderNo, (state, at) => decideStop(state, recall, at));

export function decideStop({ order }: OrderState, recall: Recall, { now }: Moment): Decision<OrderRecord> {
  const isMeant = (line: OrderLine): boolean => !('sku' in recall) || line.sku === recall.sku;
  return stopped(order, isMeant, 'stopped', now);
}

function recalledBy(recall: Recall): Prisma.Sql {
  if ('sku' in recall) return Prisma.sql`line.sku = ${recall.sku}`;
  if ('reviewerRef' in recall) return Prisma.sql`encounter.reviewer_ref = ${recall.reviewerRef}`;
  return Prisma.sql`"order".clinic_id = ${recall.clinicId}::uuid`;
}
