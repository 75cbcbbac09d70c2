import { Prisma, type Order } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { atClinics } from '../access/limits.js';
import { comparableInstant } from '../transactions/instant.js';
import { listCursor, placeOf, type ListPage } from '../transactions/listCursor.js';
import type { ModelContext } from '../transactions/transaction.js';
import { readUntilFull } from '../transactions/listCursor.js';
import { canonicalUuid, onlyUuid } from '../transactions/uuid.js';
import { applyElapsedHolds } from './holds.js';
import { ofPharmacies, permittedOrder, type OrderRecord } from './orders.js';

type Filter = Input<'listOrders'>['query'];

/**
 * An order by its number in any letter case, with the lines that the caller may see; approvals expire by the tenant's
 * clock. Call it in a snapshot.
 * @throws Problem as {@link permittedOrder}
 */
export async function showOrder(context: ModelContext, orderNo: string): Promise<OrderRecord> {
  const [found] = await findOrders(context, { orderNo: orderNo.toUpperCase() });
  return shownTo(context, permittedOrder(context, found));
}

const shownTo = (context: ModelContext, order: OrderRecord): OrderRecord =>
  ofPharmacies(context, applyElapsedHolds(order, context.now()));

const inTime = [{ createdAt: 'asc' }, { id: 'asc' }] as const;

/** Finds orders of the tenant with their lines by position, and their payments and refunds by time. */
async function findOrders({ db, caller }: ModelContext, where: Prisma.OrderWhereInput): Promise<OrderRecord[]> {
  const { tenantId } = caller;
  const found = await db.prisma.order.findMany({
    where: { tenantId, ...where },
    include: {
      lines: { where: { tenantId }, orderBy: { position: 'asc' } },
      payments: { where: { tenantId }, orderBy: [...inTime] },
      refunds: { where: { tenantId }, orderBy: [...inTime] },
      encounter: { include: { patient: { select: { factsChanges: true } } } },
    },
  });
  return found.map((order) => ({ ...order, factsChanges: order.encounter.patient.factsChanges }));
}

/**
 * Lists the tenant's orders, newest first; a client that is limited to clinics or pharmacies sees only theirs. Unless
 * a filter leaves few orders, a page starts at the cursor in an index: that of held lines, or of the lines of one pharmacy
 * or status, if the filter or the client's limit asks for these.
 * @throws Problem cursor_invalid
 */
export async function listOrders(context: Context, filter: Filter): Promise<ListPage<OrderRecord>> {
  const { tenantId } = context.caller;
  const pharmacies = pharmaciesOf(context, filter);
  const ofPharmacies = pharmacies === null ? [] : [ofAny(pharmacies)];
  const held = heldBy(context.now());
  const ofState =
    filter.fulfilment === undefined ? [] : [Prisma.sql`line.status = ${filter.fulfilment}::fulfilment_status`];
  const ofLine = [...ofPharmacies, ...ofState, ...(filter.held ? [held] : [])];
  const byLine = filter.held === true || filter.fulfilment !== undefined || pharmacies?.length === 1;
  const place = byLine ? Prisma.sql`(line.ordered_at, line.order_id)` : Prisma.sql`("order".created_at, "order".id)`;
  const conditions = [
    ...matching(context, filter),
    ...(byLine ? ofLine : ofLine.map((condition) => hasLine(tenantId, [condition]))),
    ...(filter.held === false ? [Prisma.sql`NOT ${hasLine(tenantId, [...ofPharmacies, held])}`] : []),
    ...(filter.cursor === undefined ? [] : [beyond(place, filter.cursor)]),
  ];
  const source = byLine
    ? Prisma.sql`DISTINCT ON (line.ordered_at, line.order_id) "order".id
      FROM order_line AS line JOIN "order" ON "order".tenant_id = line.tenant_id AND "order".id = line.order_id
      WHERE line.tenant_id = ${tenantId} AND `
    : Prisma.sql`"order".id FROM "order" WHERE `;
  const order = byLine
    ? Prisma.sql`line.ordered_at DESC, line.order_id DESC`
    : Prisma.sql`"order".created_at DESC, "order".id DESC`;
  const page = Prisma.sql`
    SELECT ${source} ${Prisma.join(conditions, ' AND ')}
    ORDER BY ${order} LIMIT ${filter.limit + 1}`;
  return context.db.snapshot(async (db) => {
    const found = await db.of(tenantId).rows<Pick<Order, 'id'>>(page);
    const ids = found.slice(0, filter.limit).map(({ id }) => id);
    const rows = await readUntilFull(ids, async (batch) => {
      const read = await findOrders({ ...context, db }, { id: { in: [...batch] } });
      const byId = new Map(read.map((order) => [order.id, shownTo(context, order)]));
      return batch.flatMap((id) => byId.get(id) ?? []);
    });
    const cursorOf = ({ id, createdAt }: OrderRecord): string => listCursor(id, createdAt);
    return { rows, hasMore: found.length > rows.length, cursorOf };
  });
}

/** The pharmacies that both the filter and the client's limit allow; null = all. */
function pharmaciesOf({ caller }: Context, { pharmacyId }: Filter): readonly string[] | null {
  const { allowedPharmacyIds: allowed } = caller;
  if (pharmacyId === undefined) return allowed;
  return [canonicalUuid(pharmacyId)].filter((id) => allowed?.includes(id) ?? true);
}

function matching(context: Context, filter: Filter): Prisma.Sql[] {
  const { status, clinicId, created_after, created_before, updated_after } = filter;
  const { tenantId } = context.caller;
  return [
    Prisma.sql`"order".tenant_id = ${tenantId}`,
    ...(status === undefined ? [] : [Prisma.sql`"order".order_status = ${status}::order_status`]),
    ...atClinics(context, Prisma.sql`"order".clinic_id`, clinicId),
    ...(created_after === undefined ? [] : [Prisma.sql`"order".created_at > ${comparableInstant(created_after)}`]),
    ...(created_before === undefined ? [] : [Prisma.sql`"order".created_at < ${comparableInstant(created_before)}`]),
    // Two bounds: PostgreSQL then expects few rows and uses an index.
    ...(updated_after === undefined
      ? []
      : [Prisma.sql`"order".updated_at > ${comparableInstant(updated_after)} AND "order".updated_at < 'infinity'`]),
    ...ofEncounters(tenantId, filter),
  ];
}

/** Conditions on the order's encounter: its patient or number. Such orders are few, so PostgreSQL finds them first. */
function ofEncounters(tenantId: string, { patientId, encounter_id }: Filter): Prisma.Sql[] {
  const conditions = [
    ...(patientId === undefined ? [] : [Prisma.sql`patient_id = ${patientId}::uuid`]),
    ...(encounter_id === undefined ? [] : [Prisma.sql`encounter_no = ${encounter_id}`]),
  ];
  if (conditions.length === 0) return [];
  return [
    Prisma.sql`"order".encounter_id = ANY (ARRAY(
      SELECT id FROM encounter WHERE tenant_id = ${tenantId} AND ${Prisma.join(conditions, ' AND ')}))`,
  ];
}

const hasLine = (tenantId: string, conditions: readonly Prisma.Sql[]): Prisma.Sql => Prisma.sql`
  EXISTS (SELECT FROM order_line AS line WHERE line.tenant_id = ${tenantId} AND line.order_id = "order".id
    AND ${Prisma.join([...conditions], ' AND ')})`;

/** A condition on pharmacies. A single pharmacy becomes an equality, with which an index gives the list's order. */
function ofAny(pharmacies: readonly string[]): Prisma.Sql {
  const [only, ...others] = pharmacies;
  if (only !== undefined && others.length === 0) return Prisma.sql`line.pharmacy_id = ${only}::uuid`;
  return Prisma.sql`line.pharmacy_id = ANY (${[...pharmacies]}::uuid[])`;
}

/** Whether a line is held, even if no sweep has recorded that yet. The condition implies that of the partial index. */
const heldBy = (now: Date): Prisma.Sql => Prisma.sql`(line.hold_at IS NOT NULL OR line.expires_at <= ${now})`;

/** The condition for rows after the cursor: a row comparison, so that an index scan can start there. */
function beyond(place: Prisma.Sql, cursor: string): Prisma.Sql {
  const { createdAt, key } = placeOf(cursor, onlyUuid);
  return Prisma.sql`${place} < (${createdAt}, ${key}::uuid)`;
}
