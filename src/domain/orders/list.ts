import { Prisma, type Order } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import { mayUseClinic } from '../catalog/clinics.js';
import { cursorInvalid } from '../values/positionCursor.js';
import { comparableInstant } from '../values/instant.js';
import { canonicalUuid } from '../values/uuid.js';
import { ofPharmacies, orderDetails, type OrderRecord } from './orders.js';

export interface OrderFilter {
  readonly status?: Order['orderStatus'];
  readonly pharmacyId?: string;
  readonly clinicId?: string;
  /** RFC 3339; only orders of later moments. */
  readonly created_after?: string;
  /** `nextCursor` of the page before. */
  readonly cursor?: string;
  readonly limit: number;
}

export interface OrderPage {
  readonly orders: OrderRecord[];
  /** Where the next page begins; null on the last one. */
  readonly nextCursor: string | null;
}

/** A place in the order of the list. */
type Position = Pick<Order, 'id' | 'createdAt'>;

/**
 * The tenant's orders, the newest first; a client that is limited to clinics or pharmacies sees theirs only. A page begins at
 * the cursor in an index: that of one pharmacy's fulfilments, if there is one.
 * @throws Problem cursor_invalid
 */
export async function listOrders(context: Context, filter: OrderFilter): Promise<OrderPage> {
  const { tenantId } = context.caller;
  const pharmacies = pharmaciesOf(context, filter);
  const [only, ...others] = pharmacies ?? [];
  const ofOne = only !== undefined && others.length === 0;
  const place = ofOne
    ? Prisma.sql`(fulfilment.ordered_at, fulfilment.order_id)`
    : Prisma.sql`("order".created_at, "order".id)`;
  const conditions = [
    ...matching(context, filter),
    ...(pharmacies && !ofOne ? [anyOf(tenantId, pharmacies)] : []),
    ...(filter.cursor === undefined ? [] : [beyond(place, positionOf(filter.cursor))]),
  ];
  const source = ofOne
    ? Prisma.sql`fulfilment JOIN "order"
        ON "order".tenant_id = fulfilment.tenant_id AND "order".id = fulfilment.order_id
      WHERE fulfilment.tenant_id = ${tenantId} AND fulfilment.pharmacy_id = ${only}::uuid AND `
    : Prisma.sql`"order" WHERE `;
  const order = ofOne
    ? Prisma.sql`fulfilment.ordered_at DESC, fulfilment.order_id DESC`
    : Prisma.sql`"order".created_at DESC, "order".id DESC`;
  const found = await context.db.$queryRaw<Position[]>`
    SELECT "order".id, "order".created_at AS "createdAt" FROM ${source} ${Prisma.join(conditions, ' AND ')}
    ORDER BY ${order} LIMIT ${filter.limit + 1}`;
  const page = found.slice(0, filter.limit);
  const last = page.at(-1);
  return {
    orders: await ordersOf(context, page),
    nextCursor: last && found.length > page.length ? cursorOf(last) : null,
  };
}

async function ordersOf(context: Context, page: readonly Position[]): Promise<OrderRecord[]> {
  if (page.length === 0) return [];
  const ids = page.map(({ id }) => id);
  const where = { tenantId: context.caller.tenantId, id: { in: ids } };
  const rows = await context.db.order.findMany({ where, include: orderDetails });
  const byId = new Map(rows.map((order) => [order.id, ofPharmacies(context, order)]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** The pharmacies of the filter and of the client's limit; null = all. */
function pharmaciesOf({ caller }: Context, { pharmacyId }: OrderFilter): readonly string[] | null {
  const { allowedPharmacyIds: allowed } = caller;
  if (pharmacyId === undefined) return allowed;
  return [canonicalUuid(pharmacyId)].filter((id) => allowed?.includes(id) ?? true);
}

function matching(context: Context, { status, clinicId, created_after }: OrderFilter): Prisma.Sql[] {
  const { tenantId, allowedClinicIds } = context.caller;
  const clinics = clinicId === undefined ? allowedClinicIds : [clinicId].filter((id) => mayUseClinic(context, id));
  return [
    Prisma.sql`"order".tenant_id = ${tenantId}`,
    ...(status === undefined ? [] : [Prisma.sql`"order".order_status = ${status}::order_status`]),
    ...(clinics === null ? [] : [ofClinics(clinics)]),
    ...(created_after === undefined ? [] : [Prisma.sql`"order".created_at > ${comparableInstant(created_after)}`]),
  ];
}

/** With one clinic a comparison, so that an index has the order. */
function ofClinics([one, ...others]: readonly string[]): Prisma.Sql {
  if (one === undefined) return Prisma.sql`false`;
  if (others.length === 0) return Prisma.sql`"order".clinic_id = ${one}::uuid`;
  return Prisma.sql`"order".clinic_id = ANY (${[one, ...others]}::uuid[])`;
}

const anyOf = (tenantId: string, pharmacies: readonly string[]): Prisma.Sql => Prisma.sql`
  EXISTS (SELECT FROM fulfilment WHERE fulfilment.tenant_id = ${tenantId} AND fulfilment.order_id = "order".id
    AND fulfilment.pharmacy_id = ANY (${[...pharmacies]}::uuid[]))`;

/** A comparison of rows, so that an index begins at the position. */
const beyond = (place: Prisma.Sql, { createdAt, id }: Position): Prisma.Sql =>
  Prisma.sql`${place} < (${createdAt}, ${id}::uuid)`;

const cursorOf = ({ createdAt, id }: Position): string =>
  Buffer.from(`${createdAt.toISOString()} ${id}`).toString('base64url');

/** @throws Problem cursor_invalid unless it is one that {@link cursorOf} made, to the letter */
function positionOf(cursor: string): Position {
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, time = '', id = ''] = /^([\dT:.-]{23}Z) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(text) ?? [];
  const createdAt = new Date(time);
  // Nothing is older than 1970.
  const position = createdAt.getTime() >= 0 ? { createdAt, id } : null;
  if (position && cursorOf(position) === cursor) return position;
  throw cursorInvalid('is not a cursor of this list', 'cursor');
}
