import {
  Prisma,
  type Encounter,
  type EncounterDocument,
  type EncounterInformation,
  type EncounterTreatment,
  type GfeItem,
  type Order,
} from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { Problem } from '../../problem.js';
import type { ItemIdentity } from '../catalog/itemKey.js';
import { mayUseClinic } from '../access/limits.js';
import { applyElapsedHolds } from '../orders/holds.js';
import { ordersWhere } from '../orders/orders.js';
import { fieldsOf, forTenant, type JsonOf } from '../transactions/bulkSql.js';
import { readUntilFull } from '../transactions/listCursor.js';
import { keysThat } from '../transactions/rows.js';
import type { LookupContext, ModelContext, ReadContext } from '../transactions/transaction.js';

/** Fields that lists do not show. */
const unlistedFields = [
  'tenantId',
  'claimedById',
  'reviewedById',
  'visitUrl',
  'visitStartedAt',
  'visitEndedAt',
  'reviewNotes',
  'factsVersion',
  'reviewedIdentity',
  'shipTo',
] as const;
type UnlistedField = (typeof unlistedFields)[number];
const listedFields = Object.keys(Prisma.EncounterScalarFieldEnum).filter(
  (field) => !(unlistedFields as readonly string[]).includes(field),
);

/** An encounter with the parts that lists show. A stored record satisfies this type, too. */
export interface ShownEncounter extends Omit<Encounter, UnlistedField> {
  readonly treatments: readonly Pick<
    EncounterTreatment,
    'productId' | 'categoryId' | 'subcategoryId' | 'decision' | 'endReason'
  >[];
  readonly documents: readonly Pick<EncounterDocument, 'documentId'>[];
  readonly gfeItems: readonly ShownItem[];
  /** The order of the review, then its reorders. */
  readonly orders: readonly Pick<Order, 'orderNo'>[];
}

export type ShownItem = Omit<
  GfeItem,
  | 'id'
  | 'tenantId'
  | 'encounterId'
  | 'clinicId'
  | 'position'
  | 'reviewOften'
  | 'reviewRecurring'
  | 'revokedBy'
  | `${string}NotifiedAt`
>;

const statusFields = ['encounterNo', 'gfeNo', 'clinicId', 'patientId'] as const;

type StatusOrder = Pick<
  Order,
  'orderNo' | 'orderStatus' | 'subTotal' | 'totalShippingAmt' | 'grandTotal' | 'paidAmt' | 'balanceAmt' | 'createdAt'
>;

/** The parts of an encounter that its status view shows. */
export type StatusEncounter = Pick<ShownEncounter, (typeof statusFields)[number] | 'gfeItems'> & {
  readonly orders: readonly (StatusOrder | JsonOf<StatusOrder>)[];
};

/** A row that {@link selectShown} selects. */
export type ShownRow = Omit<ShownEncounter, 'gfeItems'> & { readonly gfeItems: readonly JsonOf<ShownItem>[] };

/** The items of an encounter, as JSON. */
const items = (tenantId: string): Prisma.Sql => Prisma.sql`
  (SELECT json_agg(json_build_object('categoryId', category_id, 'categoryName', category_name,
      'subcategoryId', subcategory_id, 'subCategoryName', sub_category_name, 'status', status,
      'decidedAt', decided_at, 'validUntil', valid_until, 'denialReason', denial_reason,
      'rationale', rationale, 'revocationReason', revocation_reason) ORDER BY position)
    FROM gfe_item AS part
    WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id) AS "gfeItems"`;

/** Selects encounters with their parts as JSON. @param more further columns, beginning with a comma */
const shownWith = (tenantId: string, fields: Prisma.Sql, more: Prisma.Sql): Prisma.Sql => Prisma.sql`SELECT ${fields},
  (SELECT json_agg(json_build_object('productId', product_id, 'categoryId', category_id,
      'subcategoryId', subcategory_id, 'decision', decision, 'endReason', end_reason) ORDER BY position)
    FROM encounter_treatment AS part
    WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id) AS treatments,
  (SELECT coalesce(json_agg(json_build_object('documentId', document_id) ORDER BY position), '[]')
    FROM encounter_document AS part
    WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id) AS documents,
  (SELECT coalesce(json_agg(json_build_object('orderNo', order_no) ORDER BY position), '[]') FROM "order" AS part
    WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id) AS orders,${items(tenantId)}${more}
  FROM encounter`;

/** Selects encounters as lists show them; the condition must name the tenant, too. */
export const selectShown = forTenant((tenantId) =>
  shownWith(tenantId, fieldsOf('Encounter', 'encounter', listedFields), Prisma.empty),
);

/** The parts of an exchange of information that views show. */
export type ShownInformation = Pick<
  EncounterInformation,
  'requestedAt' | 'reviewerRef' | 'message' | 'providedAt' | 'additionalNotes'
>;

/** An encounter with the parts that lists omit: information and addenda. */
export interface DetailedEncounter extends ShownEncounter, Pick<Encounter, UnlistedField> {
  readonly information: readonly JsonOf<ShownInformation>[];
  readonly addenda: readonly { readonly addedAt: string }[];
}

const selectDetailed = forTenant((tenantId) =>
  shownWith(
    tenantId,
    fieldsOf('Encounter', 'encounter'),
    Prisma.sql`,
  (SELECT coalesce(json_agg(json_build_object('requestedAt', requested_at, 'reviewerRef', reviewer_ref,
      'message', message, 'providedAt', provided_at, 'additionalNotes', additional_notes) ORDER BY requested_at, id), '[]')
    FROM encounter_information AS part
    WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id) AS information,
  (SELECT coalesce(json_agg(json_build_object('addedAt', added_at) ORDER BY added_at, id), '[]')
    FROM encounter_addendum AS part
    WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id) AS addenda`,
  ),
);

/** The number of the encounter that a path names by its number or its GFE number, which contains it (R-292). */
export const encounterNumber = (named: string | number): bigint => BigInt(String(named).replace(/^GFE-/i, ''));

/** The encounter that a path names, with information and addenda. @throws Problem as {@link permitted} */
export async function showEncounter(context: LookupContext, named: string | number): Promise<DetailedEncounter> {
  const { db, caller } = context;
  const [row] = await db.of(caller.tenantId).rows<ShownRow & DetailedEncounter>`${selectDetailed(caller.tenantId)}
    WHERE encounter.tenant_id = ${caller.tenantId} AND encounter.encounter_no = ${encounterNumber(named)}`;
  return shownEncounter(permitted(context, row));
}

/** Conditions for a patient's encounters in a chart: those that await a decision, and those that ended without one. */
const undecided = {
  open: Prisma.sql`phase = 'open'`,
  ended: Prisma.sql`status IN ('cancelled', 'expired')`,
};

/** A patient's latest encounters without a decision, at any clinic: up to `most`, or until they exceed 1 MiB. */
export async function showUndecidedEncounters(
  { db, caller }: ReadContext,
  patientId: string,
  which: keyof typeof undecided,
  most: number,
): Promise<{ readonly encounters: readonly DetailedEncounter[]; readonly hasMore: boolean }> {
  const { tenantId } = caller;
  const latest = await db.of(tenantId).rows<Pick<Encounter, 'id'>>`
    SELECT id FROM encounter
    WHERE tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid AND ${undecided[which]}
    ORDER BY created_at DESC, encounter_no DESC LIMIT ${most + 1}`;
  const ids = latest.slice(0, most).map(({ id }) => id);
  const rows = await readUntilFull(
    ids,
    (batch) => db.of(tenantId).rows<ShownRow & DetailedEncounter>`${selectDetailed(tenantId)}
      WHERE encounter.tenant_id = ${tenantId} AND encounter.id = ANY (${[...batch]}::uuid[])
      ORDER BY encounter.created_at DESC, encounter.encounter_no DESC`,
  );
  return { encounters: rows.map(shownEncounter), hasMore: latest.length > rows.length };
}

/**
 * Finds the encounter that all given identifiers name.
 * @throws Problem clinic_not_permitted (R-04); identifier_mismatch when they do not agree (R-245); encounter_not_found,
 * even if another tenant has it
 */
export async function findEncounter(
  context: ReadContext,
  identifiers: Bodies['GetEncounterStatusRequest'],
): Promise<StatusEncounter> {
  const { tenantId } = context.caller;
  const { encounter_id } = identifiers;
  const [gfeNo, orderNo] = [identifiers.gfe_no?.toUpperCase(), identifiers.order_no?.toUpperCase()];
  // Look up each identifier by its index; a condition with OR would join all orders of the tenant.
  const ids = [
    encounter_id !== undefined &&
      Prisma.sql`SELECT id FROM encounter WHERE tenant_id = ${tenantId} AND encounter_no = ${BigInt(encounter_id)}`,
    gfeNo !== undefined && Prisma.sql`SELECT id FROM encounter WHERE tenant_id = ${tenantId} AND gfe_no = ${gfeNo}`,
    orderNo !== undefined &&
      Prisma.sql`SELECT encounter_id FROM "order" WHERE tenant_id = ${tenantId} AND order_no = ${orderNo}`,
  ].filter((lookup) => lookup !== false);
  const [row, ...others] = await context.db.of(tenantId).rows<StatusRow>`${selectStatus(tenantId)}
    WHERE encounter.tenant_id = ${tenantId} AND encounter.id ${keysThat(Prisma.join(ids, ' UNION ALL '))}`;
  // Check permission first: nothing else about an encounter at another clinic is checked (R-04).
  if ([row, ...others].some((one) => one && !mayUseClinic(context, one.clinicId))) {
    throw new Problem('clinic_not_permitted');
  }
  const found = permitted(context, row);
  const differs = (value: unknown, wanted: unknown): boolean => wanted !== undefined && value !== wanted;
  const isMismatch =
    others.length > 0 ||
    differs(Number(found.encounterNo), encounter_id) ||
    differs(found.gfeNo, gfeNo) ||
    (orderNo !== undefined && !found.orders.some((order) => order.orderNo === orderNo));
  if (isMismatch) throw new Problem('identifier_mismatch');
  const { holdDueAt, ...encounter } = shownEncounter(found);
  const isDue = holdDueAt !== null && holdDueAt <= context.now();
  if (!isDue) return encounter;
  const orders = await ordersWhere(
    context.db,
    tenantId,
    Prisma.sql`encounter_id ${keysThat(Prisma.sql`
      SELECT id FROM encounter WHERE tenant_id = ${tenantId} AND encounter_no = ${encounter.encounterNo}`)}`,
  );
  return { ...encounter, orders: orders.map((order) => applyElapsedHolds(order, context.now())) };
}

/** An item of an open encounter, with the encounter. */
export type Duplicate = GfeItem & { readonly encounter: Encounter };

const MAX_DUPLICATES = 100;

/** A patient's pending items at the caller's clinics that have the subcategory of one of `items`, latest first (R-104). */
export function findDuplicates(
  { db, caller: { tenantId, allowedClinicIds } }: ModelContext,
  patientId: string,
  items: readonly ItemIdentity[],
): Promise<Duplicate[]> {
  return db.prisma.gfeItem.findMany({
    where: {
      tenantId,
      // Only items of open encounters have this status.
      status: 'pending_review',
      categoryId: { in: items.map(({ categoryId }) => categoryId) },
      subcategoryId: { in: items.map(({ subcategoryId }) => subcategoryId) },
      encounter: { tenantId, patientId, ...(allowedClinicIds && { clinicId: { in: [...allowedClinicIds] } }) },
    },
    include: { encounter: true },
    orderBy: [{ encounter: { createdAt: 'desc' } }, { encounter: { encounterNo: 'desc' } }, { position: 'asc' }],
    take: MAX_DUPLICATES,
  });
}

type StatusRow = Omit<StatusEncounter, 'gfeItems'> & Pick<ShownRow, 'gfeItems'> & { readonly holdDueAt: Date | null };

/** Selects the fields of the status view, and when the first line of the encounter's orders expires (R-190). */
const selectStatus = forTenant(
  (tenantId) => Prisma.sql`SELECT ${fieldsOf('Encounter', 'encounter', statusFields)},
  ${items(tenantId)},
  (SELECT coalesce(json_agg(json_build_object('orderNo', order_no, 'orderStatus', order_status, 'subTotal', sub_total,
      'totalShippingAmt', total_shipping_amt, 'grandTotal', grand_total, 'paidAmt', paid_amt, 'balanceAmt', balance_amt,
      'createdAt', created_at) ORDER BY position), '[]')
    FROM "order" AS part
    WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id) AS orders,
  (SELECT min(expires_at) FROM order_line AS line WHERE line.tenant_id = ${tenantId} AND line.order_id ${keysThat(
    Prisma.sql`SELECT id FROM "order" AS part WHERE part.tenant_id = ${tenantId} AND part.encounter_id = encounter.id`,
  )}) AS "holdDueAt"
  FROM encounter`,
);

/**
 * The encounter, if visible. @throws Problem encounter_not_found, even if another tenant has it; clinic_not_permitted
 * (R-04)
 */
export function permitted<Found extends Pick<Encounter, 'clinicId'>>(
  context: Pick<LookupContext, 'caller'>,
  encounter: Found | null | undefined,
): Found {
  if (!encounter) throw new Problem('encounter_not_found');
  if (!mayUseClinic(context, encounter.clinicId)) throw new Problem('clinic_not_permitted');
  return encounter;
}

/** Gives the items of a row their types. Changes the row: copying each row of a page is slow. */
export function shownEncounter<Row extends Pick<ShownRow, 'gfeItems'>>(
  row: Row,
): Omit<Row, 'gfeItems'> & Pick<ShownEncounter, 'gfeItems'> {
  return Object.assign(row, { gfeItems: row.gfeItems.map(itemOf) });
}

const timeOf = (time: string | null): Date | null => (time === null ? null : new Date(time));

function itemOf({ decidedAt, validUntil, ...item }: JsonOf<ShownItem>): ShownItem {
  return { decidedAt: timeOf(decidedAt), validUntil: timeOf(validUntil), ...item };
}
