import {
  Prisma,
  type Encounter,
  type EncounterTreatment,
  type GfeItem,
  type Order,
  type OrderLine,
  type Payment,
  type Refund,
} from '../../../generated/prisma/client.js';
import { Problem } from '../../problem.js';
import { amountsOf, balanceOf, dueLines, lineAmountsOf, withHolds } from './money.js';
import type { Queries } from '../../adapters/database/statements.js';
import { mayUseClinic } from '../access/visibility.js';
import { recordEvent } from '../events/record.js';
import { numbersOf, referenceOf } from '../events/subject.js';
import { fieldsOf, tenantInsertion } from '../transactions/bulkSql.js';
import { findRows, groupedBy, updateRows } from '../transactions/rows.js';
import type { CallerContext, LookupContext, ReadContext, TransactionContext } from '../transactions/transaction.js';

/** A stored order with its lines, payments and refunds: everything that its views and events show. */
export interface OrderRecord extends Order {
  readonly lines: readonly OrderLine[];
  readonly payments: readonly Payment[];
  readonly refunds: readonly Refund[];
  readonly encounter: Pick<Encounter, 'encounterNo' | 'clinicId' | 'patientId' | 'reference'>;
}

/** Maximum of payments and refunds of one order, because every request for the order reads all of them. */
export const MAX_PAYMENTS = 200;

/** The parts of a transaction's context that creating an order needs. */
type OrderContext = Pick<CallerContext, 'db' | 'events' | 'newId' | 'now'>;

/** The id and number of a sandbox fixture, used in place of generated ones. */
export type FixedOrder = Pick<Order, 'id' | 'orderSequence'>;

/** A completed encounter with all of its items. */
type OrderedEncounter = Encounter & { readonly gfeItems: readonly GfeItem[] };

/** A treatment with the item whose approval covers it. */
export interface ApprovedTreatment {
  readonly treatment: EncounterTreatment;
  readonly item: GfeItem;
}

/**
 * Creates the order of an encounter, in the transaction that completes the encounter and after its items are decided:
 * one line for each approved treatment, at its frozen price.
 * The encounter's row must be `completed` already. A free order is created as paid. Records the events of the encounter
 * and then of the order.
 */
export async function createOrder(
  context: OrderContext,
  encounter: OrderedEncounter,
  approved: readonly ApprovedTreatment[],
  fixed?: FixedOrder,
): Promise<OrderRecord> {
  const order = await insertOrder(context, encounter, approved, fixed);
  recordEvent(context, encounter, 'encounter.completed', {
    ...numbersOf(encounter),
    approved: new Set(approved.map(({ item }) => item.id)).size,
    denied: encounter.gfeItems.filter(({ status }) => status === 'denied').length,
    order_no: order.orderNo,
  });
  recordOrderEvent(context, 'order.created', order);
  if (order.orderStatus === 'paid') recordOrderEvent(context, 'order.paid', order);
  return order;
}

/** Inserts the order and its lines by one statement. */
async function insertOrder(
  context: OrderContext,
  encounter: Encounter,
  approved: readonly ApprovedTreatment[],
  fixed: FixedOrder | undefined,
): Promise<OrderRecord> {
  const { tenantId, id: encounterId, encounterNo, clinicId, patientId, reference } = encounter;
  const { db } = context;
  const amounts = amountsOf(approved.map(({ treatment }) => treatment));
  const now = context.now();
  const row = {
    id: context.newId(),
    ...fixed,
    encounterId,
    clinicId,
    orderStatus: amounts.grandTotal.isZero() ? 'paid' : 'pending',
    currency: encounter.currency,
    shipTo: encounter.shipTo,
    ...amounts,
    paidAmt: 0,
    createdAt: now,
    updatedAt: now,
  };
  const orderId = row.id;
  const pending = { orderId, status: 'pending' as const, orderedAt: now, updatedAt: now };
  const lines = approved.map((one, position) => {
    const expiresAt = one.treatment.rx === null ? null : one.item.validUntil;
    return { ...orderLine(context, one, position), ...pending, expiresAt };
  });
  const [order] = await db.of(tenantId).rows<Order>`
    WITH lines AS (${tenantInsertion(tenantId, 'order_line', lines)})
    ${tenantInsertion(tenantId, 'order', [row])} RETURNING ${fieldsOf('Order', 'order')}`;
  if (!order) throw new Error('an insertion returned no row');
  const nothing = {
    carrier: null,
    trackingNumber: null,
    reason: null,
    shippedAt: null,
    holdReason: null,
    holdAt: null,
  };
  const stored = lines.map((line) => {
    return { ...line, ...nothing, tenantId, unitPrice: new Prisma.Decimal(line.unitPrice) };
  });
  const encounterOf = { encounterNo, clinicId, patientId, reference };
  return { ...order, lines: stored, payments: [], refunds: [], encounter: encounterOf };
}

/**
 * An order by its number, in any case, with the lines that the caller may see; approvals expire by the tenant's clock.
 * @throws Problem as {@link permittedOrder}
 */
export async function getOrder(context: ReadContext, orderNo: string): Promise<OrderRecord> {
  const order = permittedOrder(context, await findOrder(context, context.caller.tenantId, orderNo));
  return ofPharmacies(context, applyElapsedHolds(order, context.now()));
}

/**
 * The order, if visible. @throws Problem order_not_found, also if the order has no line for the caller's pharmacies
 * clinic_not_permitted
 */
export function permittedOrder(context: Pick<LookupContext, 'caller'>, order: OrderRecord | undefined): OrderRecord {
  if (!order || ofPharmacies(context, order).lines.length === 0) throw new Problem('order_not_found');
  if (!mayUseClinic(context, order.clinicId)) throw new Problem('clinic_not_permitted');
  return order;
}

/** The order with its due holds applied. A sweep, or the next change of the order, records those holds. */
export function applyElapsedHolds(order: OrderRecord, now: Date): OrderRecord {
  const due = dueLines(order, now);
  return due.length > 0 ? withHolds(order, due, 'expired', now) : order;
}

/** The order with the lines of the caller's pharmacies only, if the caller is limited to pharmacies. */
export function ofPharmacies({ caller }: Pick<LookupContext, 'caller'>, order: OrderRecord): OrderRecord {
  const { allowedPharmacyIds: allowed } = caller;
  if (!allowed) return order;
  return { ...order, lines: order.lines.filter(({ pharmacyId }) => allowed.includes(pharmacyId)) };
}

/** Locks an order until the commit. Read what a change depends on after locking, not before. */
export async function lockOrder({ db }: TransactionContext, tenantId: string, orderNo: string): Promise<void> {
  await db.of(tenantId).run`
    SELECT FROM "order" WHERE tenant_id = ${tenantId} AND order_no = ${orderNo.toUpperCase()} FOR NO KEY UPDATE`;
}

/** Makes an order final. From then on, the end of an approval no longer holds its lines. */
export async function endOrder(
  { db }: TransactionContext,
  { tenantId, id }: OrderRecord,
  change: Pick<Partial<Order>, 'orderStatus' | 'cancelReason' | 'updatedAt'>,
): Promise<void> {
  await updateRows(db, tenantId, 'Order', change, Prisma.sql`id = ${id}::uuid`);
  await updateRows(db, tenantId, 'OrderLine', { expiresAt: null }, Prisma.sql`order_id = ${id}::uuid`);
}

/** Records an event of an order; amounts are decimal text with two places. */
export function recordOrderEvent(
  context: Pick<TransactionContext, 'events' | 'newId' | 'now'>,
  type: 'order.created' | 'order.updated' | 'order.paid' | 'order.cancelled' | 'order.refunded',
  order: OrderRecord,
): void {
  const { tenantId, encounter, grandTotal } = order;
  recordEvent(context, { tenantId, clinicId: encounter.clinicId }, type, {
    order_no: order.orderNo,
    encounter_id: Number(encounter.encounterNo),
    ...referenceOf(encounter),
    order_status: order.orderStatus,
    grand_total: grandTotal.toFixed(2),
    balance_amt: balanceOf(order).toFixed(2),
  });
}

/** A tenant's order by its number in any case. Call it in a snapshot or under {@link lockOrder}. */
export async function findOrder(
  { db }: { readonly db: Queries },
  tenantId: string,
  orderNo: string,
): Promise<OrderRecord | undefined> {
  const [order] = await ordersWhere(db, tenantId, Prisma.sql`order_no = ${orderNo.toUpperCase()}`);
  return order;
}

/** Reads a tenant's orders with their parts. @param where a condition in addition to the tenant */
export async function ordersWhere(db: Queries, tenantId: string, where: Prisma.Sql): Promise<OrderRecord[]> {
  const orders = await findRows(db, tenantId, 'Order', where);
  const ofOrders = Prisma.sql`order_id = ANY(${orders.map(({ id }) => id)}::uuid[])`;
  const inTime = Prisma.sql`${ofOrders} ORDER BY created_at, id`;
  const encounterIds = orders.map(({ encounterId }) => encounterId);
  // Send these statements together, so that they take one round trip.
  const [lines, payments, refunds, encounters] = await Promise.all([
    findRows(db, tenantId, 'OrderLine', Prisma.sql`${ofOrders} ORDER BY position`),
    findRows(db, tenantId, 'Payment', inTime),
    findRows(db, tenantId, 'Refund', inTime),
    findRows(db, tenantId, 'Encounter', Prisma.sql`id = ANY(${encounterIds}::uuid[])`),
  ]);
  const orderOf = ({ orderId }: { readonly orderId: string }): string => orderId;
  const parts = {
    lines: groupedBy(lines, orderOf),
    payments: groupedBy(payments, orderOf),
    refunds: groupedBy(refunds, orderOf),
    encounters: groupedBy(encounters, ({ id }) => id),
  };
  return orders.map((order) => {
    const [encounter] = parts.encounters(order.encounterId);
    if (!encounter) throw new Error('the encounter of an order is missing');
    return {
      lines: parts.lines(order.id),
      payments: parts.payments(order.id),
      refunds: parts.refunds(order.id),
      encounter,
      ...order,
    };
  });
}

function orderLine(context: OrderContext, { treatment, item }: ApprovedTreatment, position: number) {
  const { productId, sku, name, shippingType, pharmacyId, pharmacyName } = treatment;
  const product = { productId, sku, name, shippingType, pharmacyId, pharmacyName };
  return { id: context.newId(), position, gfeItemId: item.id, ...product, ...lineAmountsOf(treatment) };
}
