import {
  Prisma,
  type Encounter,
  type EncounterTreatment,
  type GfeItem,
  type Order,
  type OrderLine,
  type Patient,
  type Payment,
  type Refund,
} from '../../../generated/prisma/client.js';
import { Problem } from '../../problem.js';
import type { Queries } from '../../adapters/database/statements.js';
import { mayUseClinic } from '../access/limits.js';
import { changedSince, type FactKind } from '../approvals/coverage.js';
import { told } from '../events/record.js';
import { referenceOf } from '../events/subject.js';
import type { EventDraft, Moment } from '../transactions/changes.js';
import { fieldsOf } from '../transactions/bulkSql.js';
import { findRows, groupedBy, keysThat } from '../transactions/rows.js';
import type { LookupContext } from '../transactions/transaction.js';
import { amountsOf, lineAmountsOf, settled } from './money.js';

/** A stored order with its lines, payments and refunds: everything that its views and events show. */
export interface OrderRecord extends Order {
  readonly lines: readonly OrderLine[];
  readonly payments: readonly Payment[];
  readonly refunds: readonly Refund[];
  readonly encounter: Encounter;
  /** By kind, the version of the patient's facts at the last change of that kind (R-210). */
  readonly factsChanges: Patient['factsChanges'];
}

/** Maximum of payments and refunds of one order together (R-170): every request for the order reads all of them. */
export const MAX_PAYMENTS = 200;

/** The id and number of a new order, given by a sandbox fixture (R-15) or new, and its position in the encounter. */
export type NewOrder = Pick<Order, 'id' | 'orderSequence' | 'position'>;

/** A treatment with the item whose approval covers it. */
export interface ApprovedTreatment {
  readonly treatment: EncounterTreatment;
  readonly item: GfeItem;
}

/**
 * An order of an encounter: one line for each given treatment, at the price in it (R-55, R-290).
 * Address and currency are the encounter's, unless a reorder gives others.
 */
export function newOrder(
  encounter: Encounter,
  factsChanges: Patient['factsChanges'],
  approved: readonly ApprovedTreatment[],
  numbers: NewOrder,
  { now, newId }: Moment,
  { shipTo, currency }: Pick<Order, 'shipTo' | 'currency'> = encounter,
): OrderRecord {
  const { tenantId, id: encounterId, clinicId } = encounter;
  const lines = approved.map((one, position) => orderLine(one, numbers.id, position, newId(), now));
  return settled({
    orderNo: `ORD-${numbers.orderSequence}`,
    tenantId,
    encounterId,
    clinicId,
    currency,
    shipTo,
    cancelReason: null,
    createdAt: now,
    updatedAt: now,
    lines,
    payments: [],
    refunds: [],
    encounter,
    factsChanges,
    ...numbers,
    ...amountsOf(approved.map(({ treatment }) => treatment)),
  });
}

function orderLine(
  { treatment, item }: ApprovedTreatment,
  orderId: string,
  position: number,
  id: string,
  now: Date,
): OrderLine {
  const { tenantId, productId, sku, name, shippingType, pharmacyId, pharmacyName } = treatment;
  return {
    id,
    tenantId,
    orderId,
    position,
    gfeItemId: item.id,
    status: 'pending',
    orderedAt: now,
    updatedAt: now,
    ...{ productId, sku, name, shippingType, pharmacyId, pharmacyName },
    ...lineAmountsOf(treatment),
    ...{ carrier: null, trackingNumber: null, reason: null, shippedAt: null, recalledAt: null },
    ...{ holdReason: null, holdAt: null, expiresAt: item.validUntil },
  };
}

/** The events of a new order: a free one is paid at once (R-58). */
export function orderCreated(order: OrderRecord): EventDraft[] {
  return [
    orderEvent('order.created', order),
    ...(order.orderStatus === 'paid' ? [orderEvent('order.paid', order)] : []),
  ];
}

/** The identifiers of an order and its encounter that all its events contain. */
export const orderSubject = ({ orderNo, encounter }: OrderRecord) => ({
  order_no: orderNo,
  encounter_id: Number(encounter.encounterNo),
  ...referenceOf(encounter),
});

const pharmaciesOf = ({ lines }: OrderRecord): string[] => [...new Set(lines.map(({ pharmacyId }) => pharmacyId))];

/** An event of an order; amounts are decimal text with two places. */
export function orderEvent(
  type: 'order.created' | 'order.updated' | 'order.paid' | 'order.cancelled' | 'order.refunded',
  order: OrderRecord,
): EventDraft {
  const { tenantId, clinicId } = order;
  return told({ tenantId, clinicId, pharmacyIds: pharmaciesOf(order) }, type, {
    order_status: order.orderStatus,
    grand_total: order.grandTotal.toFixed(2),
    balance_amt: order.balanceAmt.toFixed(2),
    ...orderSubject(order),
  });
}

/** The event of an order that a change has made paid or cancelled. */
export function statusEvents(before: OrderRecord, after: OrderRecord): EventDraft[] {
  const { orderStatus } = after;
  const isNew = orderStatus !== before.orderStatus && (orderStatus === 'paid' || orderStatus === 'cancelled');
  return isNew ? [orderEvent(`order.${orderStatus}`, after)] : [];
}

/** The kinds of facts about the patient that changed since the review that the order follows (R-210). */
export const changedSinceApproval = ({ factsChanges, encounter }: OrderRecord): FactKind[] =>
  changedSince(factsChanges, encounter.factsVersion);

/**
 * The order, if visible. @throws Problem order_not_found, also if the order has no line for the caller's pharmacies
 * (R-125); clinic_not_permitted (R-04)
 */
export function permittedOrder(context: Pick<LookupContext, 'caller'>, order: OrderRecord | undefined): OrderRecord {
  if (!order || ofPharmacies(context, order).lines.length === 0) throw new Problem('order_not_found');
  if (!mayUseClinic(context, order.clinicId)) throw new Problem('clinic_not_permitted');
  return order;
}

/** The order with the lines of the caller's pharmacies only, if the caller is limited to pharmacies. */
export function ofPharmacies({ caller }: Pick<Moment, 'caller'>, order: OrderRecord): OrderRecord {
  const allowed = caller?.allowedPharmacyIds ?? null;
  if (!allowed) return order;
  return { ...order, lines: order.lines.filter(({ pharmacyId }) => allowed.includes(pharmacyId)) };
}

/**
 * Reads a tenant's orders with their parts in one round trip; the orders are sorted by position in their encounter.
 * @param where a condition on the orders, without that on the tenant
 * @param lock a locking clause for the orders; they are locked in the order of their ids
 */
export async function ordersWhere(
  db: Queries,
  tenantId: string,
  where: Prisma.Sql,
  lock: Prisma.Sql = Prisma.empty,
): Promise<OrderRecord[]> {
  // Select the keys in each statement, so that all can be sent together.
  const those = (column: string): Prisma.Sql =>
    keysThat(Prisma.sql`SELECT ${Prisma.raw(column)} FROM "order" WHERE tenant_id = ${tenantId} AND ${where}`);
  const ofOrders = Prisma.sql`order_id ${those('id')}`;
  const isOwner = Prisma.sql`id ${those('encounter_id')}`;
  const inTime = Prisma.sql`${ofOrders} ORDER BY created_at, id`;
  const [orders, lines, payments, refunds, owners, patients] = await Promise.all([
    findRows(db, tenantId, 'Order', Prisma.sql`${where} ORDER BY id ${lock}`),
    findRows(db, tenantId, 'OrderLine', Prisma.sql`${ofOrders} ORDER BY position`),
    findRows(db, tenantId, 'Payment', inTime),
    findRows(db, tenantId, 'Refund', inTime),
    findRows(db, tenantId, 'Encounter', isOwner),
    db.of(tenantId).rows<Pick<Patient, 'id' | 'factsChanges'>>`
      SELECT ${fieldsOf('Patient', 'client', ['id', 'factsChanges'])} FROM client
      WHERE tenant_id = ${tenantId} AND id ${keysThat(
        Prisma.sql`SELECT patient_id FROM encounter WHERE tenant_id = ${tenantId} AND ${isOwner}`,
      )}`,
  ]);
  const orderOf = ({ orderId }: { readonly orderId: string }): string => orderId;
  const linesOf = groupedBy(lines, orderOf);
  const paymentsOf = groupedBy(payments, orderOf);
  const refundsOf = groupedBy(refunds, orderOf);
  const encounterOf = new Map(owners.map((owner) => [owner.id, owner]));
  const changesOf = new Map(patients.map(({ id, factsChanges }) => [id, factsChanges]));
  const records = orders.map((order) => {
    const encounter = encounterOf.get(order.encounterId);
    if (!encounter) throw new Error(`order ${order.id} has no encounter: repeat the request, or restore a backup`);
    return {
      lines: linesOf(order.id),
      payments: paymentsOf(order.id),
      refunds: refundsOf(order.id),
      encounter,
      factsChanges: changesOf.get(encounter.patientId) ?? {},
      ...order,
    };
  });
  return records.sort((one, other) => one.position - other.position);
}
