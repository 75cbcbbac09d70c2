import { Prisma, type Order } from '../../../generated/prisma/client.js';
import type { Queries } from '../../adapters/database/database.js';
import { Problem } from '../../problem.js';
import { amountsOf, lineAmountsOf } from './money.js';
import { mayUseClinic } from '../catalog/clinics.js';
import { recordEvent } from '../events/record.js';
import { itemKey } from '../values/itemKey.js';
import { fieldsOf, tenantInsertion } from '../transactions/bulkSql.js';
import type { ReadContext, StatementContext, TransactionContext } from '../transactions/transaction.js';

/** Everything that the views and events of an order show. */
export const orderDetails = {
  lines: { orderBy: { position: 'asc' } },
  payments: { orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] },
  encounter: { select: { encounterNo: true, clinicId: true, patientId: true } },
} satisfies Prisma.OrderInclude;

/** A stored order with its lines and payments. */
export type OrderRecord = Prisma.OrderGetPayload<{ include: typeof orderDetails }>;

/** What creates an order: any transaction. */
type OrderContext = Pick<StatementContext, 'db' | 'events' | 'newId' | 'now' | 'fixed'>;

/** A completed encounter, as far as its order depends on it. */
export type OrderedEncounter = Prisma.EncounterGetPayload<{ include: { treatments: true; gfeItems: true } }>;

/**
 * Creates the order of an encounter in the transaction that completes it, after its items are decided: one line for
 * each treatment whose item is approved, newly or by reuse, at its frozen price (R-55, D-36).
 * The encounter's row must be `completed` already. A free order is paid at birth. Emits the events of both, the encounter first.
 */
export async function createOrder(context: OrderContext, encounter: OrderedEncounter): Promise<OrderRecord> {
  const order = await insertOrder(context, encounter);
  recordEvent(context, encounter, 'encounter.completed', {
    encounter_id: Number(encounter.encounterNo),
    gfe_no: encounter.gfeNo,
    approved: count(encounter, 'approved'),
    denied: count(encounter, 'denied'),
    order_no: order.orderNo,
  });
  recordOrderEvent(context, 'order.created', order);
  if (order.orderStatus === 'paid') recordOrderEvent(context, 'order.paid', order);
  return order;
}

/** The order and its lines, in one statement. */
async function insertOrder(context: OrderContext, encounter: OrderedEncounter): Promise<OrderRecord> {
  const { tenantId, id: encounterId, encounterNo, clinicId, patientId } = encounter;
  const { db, fixed } = context;
  const [tenant] = await db.$queryRaw<{ currency: string }[]>`SELECT currency FROM tenant WHERE id = ${tenantId}`;
  const treatments = approvedTreatments(encounter);
  const amounts = amountsOf(treatments);
  const now = context.now();
  const row = {
    id: context.newId(),
    ...fixed?.order,
    encounterId,
    orderStatus: amounts.grandTotal.isZero() ? 'paid' : 'pending',
    ...tenant,
    ...amounts,
    paidAmt: 0,
    createdAt: now,
    updatedAt: now,
  };
  const orderId = row.id;
  const lines = treatments.map((treatment, position) => ({ orderId, ...orderLine(context, treatment, position) }));
  const [order] = await db.rows<Order>(Prisma.sql`
    WITH lines AS (${tenantInsertion(tenantId, 'order_line', lines)})
    ${tenantInsertion(tenantId, 'order', [row])} RETURNING ${fieldsOf('Order', 'order')}`);
  if (!order) throw new Error('an insertion returned no row');
  const stored = lines.map((line) => ({ ...line, tenantId, unitPrice: new Prisma.Decimal(line.unitPrice) }));
  return { ...order, lines: stored, payments: [], encounter: { encounterNo, clinicId, patientId } };
}

/**
 * One order by its number, in either case.
 * @throws Problem order_not_found, also for another tenant's; clinic_not_permitted (D-31)
 */
export async function getOrder(context: ReadContext, orderNo: string): Promise<OrderRecord> {
  const order = await findOrder(context, context.caller.tenantId, orderNo);
  if (!order) throw new Problem('order_not_found');
  if (!mayUseClinic(context, order.encounter.clinicId)) throw new Problem('clinic_not_permitted');
  return order;
}

/**
 * Cancels an order of which nothing is paid, for the operator.
 * @throws Error when there is no such order, or it is not pending, or a part of it is paid
 */
export async function cancelOrder(
  context: TransactionContext,
  tenantId: string,
  orderNo: string,
): Promise<OrderRecord> {
  const where = { tenantId, orderNo: orderNo.toUpperCase(), orderStatus: 'pending', paidAmt: 0 } as const;
  const data = { orderStatus: 'cancelled', updatedAt: context.now() } as const;
  const { count } = await context.db.order.updateMany({ where, data });
  const order = await findOrder(context, tenantId, orderNo);
  if (!order) throw new Error(`The tenant ${tenantId} has no order ${JSON.stringify(orderNo)}.`);
  if (count === 0) throw new Error(`${order.orderNo} cannot be cancelled: ${whyNotCancellable(order)}.`);
  recordOrderEvent(context, 'order.cancelled', order);
  return order;
}

/** Records an event of an order; amounts are decimal text with two places. */
export function recordOrderEvent(
  context: Pick<TransactionContext, 'events' | 'newId' | 'now'>,
  type: 'order.created' | 'order.updated' | 'order.paid' | 'order.cancelled',
  order: OrderRecord,
): void {
  const { tenantId, encounter, grandTotal, paidAmt } = order;
  recordEvent(context, { tenantId, clinicId: encounter.clinicId }, type, {
    order_no: order.orderNo,
    encounter_id: Number(encounter.encounterNo),
    order_status: order.orderStatus,
    grand_total: grandTotal.toFixed(2),
    balance_amt: grandTotal.minus(paidAmt).toFixed(2),
  });
}

function findOrder({ db }: { readonly db: Queries }, tenantId: string, orderNo: string): Promise<OrderRecord | null> {
  const where = { tenantId_orderNo: { tenantId, orderNo: orderNo.toUpperCase() } };
  return db.order.findUnique({ where, include: orderDetails });
}

function whyNotCancellable({ orderStatus, paidAmt }: OrderRecord): string {
  return orderStatus === 'pending' ? `${paidAmt.toFixed(2)} of it is paid` : `it is ${orderStatus}`;
}

function count({ gfeItems }: OrderedEncounter, wanted: 'approved' | 'denied'): number {
  return gfeItems.filter(({ status }) => status === wanted).length;
}

type Treatment = OrderedEncounter['treatments'][number];

function approvedTreatments({ treatments, gfeItems }: OrderedEncounter): Treatment[] {
  const approved = new Set(gfeItems.filter(({ status }) => status === 'approved').map(itemKey));
  return treatments.filter((treatment) => approved.has(itemKey(treatment)));
}

function orderLine(context: OrderContext, treatment: Treatment, position: number) {
  const { productId, sku, name, shippingType, pharmacyId, pharmacyName } = treatment;
  const amounts = lineAmountsOf(treatment);
  return { id: context.newId(), position, productId, sku, name, shippingType, ...amounts, pharmacyId, pharmacyName };
}
