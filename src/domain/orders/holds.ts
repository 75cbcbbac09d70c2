import { Prisma, type OrderLine } from '../../../generated/prisma/client.js';
import { Problem, type FieldError } from '../../problem.js';
import { recordEvent } from '../events/record.js';
import { referenceOf } from '../events/subject.js';
import { updateRows } from '../transactions/rows.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';
import { dueLines, withHolds } from './money.js';
import { findOrder, lockOrder, ordersWhere, permittedOrder, recordOrderEvent, type OrderRecord } from './orders.js';

type HoldReason = NonNullable<OrderLine['holdReason']>;

/**
 * Locks an order until the commit and records holds that are due. @returns the order with all lines
 * @throws Problem as {@link permittedOrder}
 */
export async function lockedOrder(context: CallerContext, orderNo: string): Promise<OrderRecord> {
  const { tenantId } = context.caller;
  await lockOrder(context, tenantId, orderNo);
  return recordElapsedHolds(context, permittedOrder(context, await findOrder(context, tenantId, orderNo)));
}

/** Holds lines whose approval has expired. The order must be locked. @returns the order afterwards */
export function recordElapsedHolds(context: TransactionContext, order: OrderRecord): Promise<OrderRecord> {
  return hold(context, order, dueLines(order, context.now()), 'expired');
}

/**
 * Holds the unshipped lines of these items, in all orders that are not final. The caller locks the patient
 * first; orders are locked by id, so that two calls cannot deadlock.
 */
export async function holdLines(
  context: TransactionContext,
  tenantId: string,
  gfeItemIds: readonly string[],
  reason: Exclude<HoldReason, 'expired'>,
): Promise<void> {
  const orders = await context.db.of(tenantId).rows<{ id: string }>`
    SELECT id FROM "order" WHERE tenant_id = ${tenantId} AND order_status IN ('pending', 'paid')
      AND id IN (SELECT order_id FROM order_line WHERE tenant_id = ${tenantId}
        AND gfe_item_id = ANY(${[...gfeItemIds]}::uuid[]))
    ORDER BY id FOR NO KEY UPDATE`;
  if (orders.length === 0) return;
  const locked = Prisma.sql`id = ANY(${orders.map(({ id }) => id)}::uuid[]) ORDER BY id`;
  for (const stored of await ordersWhere(context.db, tenantId, locked)) {
    const order = await recordElapsedHolds(context, stored);
    const isHeldNow = ({ gfeItemId, status, holdAt }: OrderLine): boolean =>
      gfeItemIds.includes(gfeItemId) && status !== 'shipped' && status !== 'delivered' && holdAt === null;
    await hold(context, order, order.lines.filter(isHeldNow), reason);
  }
}

/**
 * Holds those of the returned lines whose approval was revoked or denied while they were shipped. The order
 * must be locked.
 */
export async function holdReturned(
  context: TransactionContext,
  order: OrderRecord,
  lines: readonly OrderLine[],
): Promise<void> {
  const { tenantId, encounter } = order;
  const items = await context.db.of(tenantId).rows<{ id: string; reason: 'revoked' | 'superseded' }>`
    SELECT id, CASE status WHEN 'revoked' THEN 'revoked' ELSE 'superseded' END AS reason FROM gfe_item AS item
    WHERE tenant_id = ${tenantId} AND id = ANY(${lines.map(({ gfeItemId }) => gfeItemId)}::uuid[])
      AND (status IN ('revoked', 'superseded') OR EXISTS (
        SELECT FROM encounter JOIN gfe_item AS later ON later.tenant_id = ${tenantId} AND later.encounter_id = encounter.id
        WHERE encounter.tenant_id = ${tenantId} AND encounter.patient_id = ${encounter.patientId}::uuid
          AND later.category_id = item.category_id AND later.subcategory_id = item.subcategory_id
          AND later.status = 'denied' AND later.decided_at > item.decided_at))`;
  let current = order;
  for (const reason of ['revoked', 'superseded'] as const) {
    const ended = items.filter((item) => item.reason === reason).map(({ id }) => id);
    const returned = lines.filter(({ gfeItemId }) => ended.includes(gfeItemId));
    current = await hold(context, current, returned, reason);
  }
}

/** Holds lines. Records order.held, and order.paid if the hold leaves nothing to pay. @returns the order afterwards */
async function hold(
  context: TransactionContext,
  order: OrderRecord,
  lines: readonly OrderLine[],
  reason: HoldReason,
): Promise<OrderRecord> {
  if (lines.length === 0) return order;
  const { tenantId, id, clinicId, orderNo, encounter } = order;
  const now = context.now();
  await context.db.of(tenantId).run`
    UPDATE order_line SET hold_reason = ${reason}::hold_reason, hold_at = least(expires_at, ${now}), expires_at = NULL
    WHERE tenant_id = ${tenantId} AND id = ANY(${lines.map((line) => line.id)}::uuid[])`;
  const held = { ...withHolds(order, lines, reason, now), updatedAt: now };
  const { heldAmt, orderStatus, updatedAt } = held;
  await updateRows(context.db, tenantId, 'Order', { heldAmt, orderStatus, updatedAt }, Prisma.sql`id = ${id}::uuid`);
  recordEvent(context, { tenantId, clinicId }, 'order.held', {
    order_no: orderNo,
    encounter_id: Number(encounter.encounterNo),
    ...referenceOf(encounter),
    reason,
    treatmentIds: lines.map(({ productId }) => productId),
  });
  if (orderStatus !== order.orderStatus) recordOrderEvent(context, 'order.paid', held);
  return held;
}

/**
 * The problem of a request that concerns held lines.
 * @param visible the lines of the order as the caller sees it
 */
export function approvalEnded(visible: readonly OrderLine[], held: readonly OrderLine[]): Problem {
  const errors = held.map(({ id, holdReason }): FieldError => {
    const pointer = `#/lines/${visible.findIndex((line) => line.id === id)}`;
    return { pointer, code: 'approval_ended', detail: `is held: its approval is ${holdReason}` };
  });
  return new Problem('approval_ended', undefined, { errors });
}
