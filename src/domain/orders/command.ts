import { Prisma, type EncounterTreatment } from '../../../generated/prisma/client.js';
import { Problem } from '../../problem.js';
import { flush, write, type Decision, type Moment, type Rows } from '../transactions/changes.js';
import { findRows } from '../transactions/rows.js';
import type { CallerContext, TransactionContext } from '../transactions/transaction.js';
import { elapsedHolds } from './holds.js';
import { ofPharmacies, ordersWhere, permittedOrder, type OrderRecord } from './orders.js';

/** Everything that a command on an order decides about, locked until the commit. */
export interface OrderState {
  readonly order: OrderRecord;
  /** The treatments of its encounter, with their decisions. */
  readonly treatments: readonly EncounterTreatment[];
}

/** A pure decision about an order. @throws Problem if it is refused */
export type DecideOrder = (state: OrderState, at: Moment) => Decision<OrderRecord>;

/**
 * Loads and locks the order, decides, and writes. Holds that are due apply even if no sweep has recorded them.
 * @returns the order afterwards, with the lines that the caller may see
 * @throws Problem as {@link permittedOrder}, and those of the decision
 */
export async function orderCommand(context: CallerContext, orderNo: string, decide: DecideOrder): Promise<OrderRecord> {
  const { caller, newId } = context;
  const state = await loadOrder(context, caller.tenantId, orderNo);
  if (!state) throw new Problem('order_not_found');
  permittedOrder(context, state.order);
  const at = { now: context.now(), newId, caller };
  const elapsed = elapsedHolds(state.order, at.now);
  const { state: order, events } = decide({ ...state, order: elapsed.state }, at);
  write(context, at, order.tenantId, orderRows([state.order]), orderRows([order]), [...elapsed.events, ...events]);
  return ofPharmacies(context, order);
}

/** Records the due holds of an order that a sweep has locked. */
export async function recordElapsedHolds(context: TransactionContext, tenantId: string, id: string): Promise<void> {
  const [order] = await ordersWhere(context.db, tenantId, Prisma.sql`id = ${id}::uuid`);
  if (!order) return;
  const at = { now: context.now(), newId: context.newId };
  const after = elapsedHolds(order, at.now);
  write(context, at, tenantId, orderRows([order]), orderRows([after.state]), after.events);
}

/** The rows of orders, for the writer. */
export const orderRows = (orders: readonly OrderRecord[]): Rows => ({
  Order: orders,
  OrderLine: orders.flatMap(({ lines }) => lines),
  Payment: orders.flatMap(({ payments }) => payments),
  Refund: orders.flatMap(({ refunds }) => refunds),
});

/** Locks patient and order, and reads the order and the treatments of its encounter, in one round trip. */
async function loadOrder(
  context: TransactionContext,
  tenantId: string,
  orderNo: string,
): Promise<OrderState | undefined> {
  await flush(context);
  const { db } = context;
  const isNumbered = Prisma.sql`order_no = ${orderNo.toUpperCase()}`;
  const encounter = Prisma.sql`SELECT encounter_id FROM "order" WHERE tenant_id = ${tenantId} AND ${isNumbered}`;
  const [, [order], treatments] = await Promise.all([
    // Lock the patient, so that no news arrives between the check of the news and the shipment.
    db.of(tenantId).run`
      SELECT FROM client
      WHERE tenant_id = ${tenantId} AND id = (
        SELECT patient_id FROM encounter WHERE tenant_id = ${tenantId} AND id = (${encounter})) FOR SHARE`,
    ordersWhere(db, tenantId, isNumbered, Prisma.sql`FOR NO KEY UPDATE`),
    findRows(db, tenantId, 'EncounterTreatment', Prisma.sql`encounter_id = (${encounter}) ORDER BY position`),
  ]);
  return order && { order, treatments };
}
