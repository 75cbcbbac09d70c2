import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { recordEvent } from '../events/record.js';
import { updateRows } from '../transactions/rows.js';
import type { TransactionContext } from '../transactions/transaction.js';

/** What decides; its patient is locked. */
type DecidingEncounter = Pick<Encounter, 'tenantId' | 'id' | 'encounterNo' | 'patientId'>;

/**
 * A denial counts more than what was decided before: approvals in force of the same patient and items, at any clinic and
 * newly given or reused, become `superseded`.
 */
export async function supersedeApprovals(
  context: TransactionContext,
  encounter: DecidingEncounter,
  denied: readonly GfeItem[],
): Promise<void> {
  if (denied.length === 0) return;
  const { tenantId, patientId } = encounter;
  const ofPatient = Prisma.sql`item.encounter_id IN (
    SELECT id FROM encounter WHERE tenant_id = ${tenantId} AND patient_id = ${patientId}::uuid)`;
  const which = denied.map((item) => Prisma.sql`(${isOf(item)} AND ${ofPatient})`);
  await endApprovals(context, encounter, { status: 'superseded' }, which);
}

/** Takes approvals back, the ones that were given and all that reuse them. */
export function revokeGiven(
  context: TransactionContext,
  encounter: DecidingEncounter,
  approvals: readonly GfeItem[],
  { reviewerRef: revokedBy, reason: revocationReason }: Omit<Bodies['RevokeApprovalsRequest'], 'items'>,
): Promise<void> {
  const which = approvals.map((item) => {
    const given = item.reusedFromEncounterId ?? item.encounterId;
    return Prisma.sql`(${isOf(item)}
      AND (item.encounter_id = ${given}::uuid OR item.reused_from_encounter_id = ${given}::uuid))`;
  });
  return endApprovals(context, encounter, { status: 'revoked', revokedBy, revocationReason }, which);
}

const isOf = ({ categoryId, subcategoryId }: GfeItem): Prisma.Sql =>
  Prisma.sql`item.category_id = ${categoryId}::uuid AND item.subcategory_id = ${subcategoryId}::uuid`;

type EndedItem = Pick<GfeItem, 'id' | 'encounterId' | 'categoryId' | 'subcategoryId'> &
  Pick<Encounter, 'tenantId' | 'clinicId' | 'encounterNo' | 'gfeNo' | 'patientId'> & {
    readonly orderNo: string | null;
  };

type End = { status: 'superseded' } | { status: 'revoked'; revokedBy: string; revocationReason: string };

/** Ends those of the approvals that are in force. Their encounters and orders stay; each event names the order. */
async function endApprovals(
  context: TransactionContext,
  { tenantId, id, encounterNo }: DecidingEncounter,
  end: End,
  which: readonly Prisma.Sql[],
): Promise<void> {
  const now = context.now();
  const { db } = context;
  const items = await db.of(tenantId).rows<EndedItem>`
    SELECT item.id, item.encounter_id AS "encounterId", item.category_id AS "categoryId",
      item.subcategory_id AS "subcategoryId", encounter.tenant_id AS "tenantId", encounter.clinic_id AS "clinicId",
      encounter.encounter_no AS "encounterNo", encounter.gfe_no AS "gfeNo", encounter.patient_id AS "patientId",
      "order".order_no AS "orderNo"
    FROM gfe_item AS item
    JOIN encounter ON encounter.tenant_id = item.tenant_id AND encounter.id = item.encounter_id
    LEFT JOIN "order" ON "order".tenant_id = encounter.tenant_id AND "order".encounter_id = encounter.id
    WHERE item.tenant_id = ${tenantId} AND item.status = 'approved'
      AND (item.valid_until IS NULL OR item.valid_until > ${now}) AND (${Prisma.join(which, ' OR ')})
    ORDER BY encounter.encounter_no, item.position`;
  if (items.length === 0) return;
  const ids = items.map((item) => item.id);
  await updateRows(db, tenantId, 'GfeItem', { ...end, validUntil: now }, Prisma.sql`id = ANY(${ids}::uuid[])`);
  // The deciding encounter is changed by its own transition.
  const others = items.map(({ encounterId }) => encounterId).filter((encounterId) => encounterId !== id);
  await db.of(tenantId).run`
    UPDATE encounter SET version = version + 1, updated_at = ${now}
    WHERE tenant_id = ${tenantId} AND id = ANY(${others}::uuid[])`;
  for (const { orderNo, ...item } of items) {
    recordEvent(context, item, `gfe.${end.status}`, {
      encounter_id: Number(item.encounterNo),
      gfe_no: item.gfeNo,
      patientId: item.patientId,
      categoryId: item.categoryId,
      subcategoryId: item.subcategoryId,
      by_encounter_id: Number(encounterNo),
      ...(orderNo === null ? {} : { order_no: orderNo }),
    });
  }
}
