import { Prisma, type Encounter, type GfeItem } from '../../../generated/prisma/client.js';
import type { Bodies } from '../../contract.js';
import { keysOf } from './duplicates.js';
import { inForce } from './inForce.js';
import { recordEvent } from '../events/record.js';
import { numbersOf } from '../events/subject.js';
import { holdLines } from '../orders/holds.js';
import type { TransactionContext } from '../transactions/transaction.js';

/** The encounter in which the provider decides; the transaction has locked its patient. */
type DecidingEncounter = Pick<Encounter, 'tenantId' | 'id' | 'encounterNo' | 'patientId'>;

/**
 * Makes a denial override earlier decisions: the patient's valid approvals of these items, at any clinic,
 * become `superseded`.
 */
export async function supersedeApprovals(
  context: TransactionContext,
  encounter: DecidingEncounter,
  denied: readonly GfeItem[],
): Promise<void> {
  if (denied.length === 0) return;
  const which = Prisma.sql`(item.category_id, item.subcategory_id) IN (${keysOf(denied)})`;
  await endApprovals(context, encounter, { status: 'superseded', revokedBy: null, revocationReason: null }, which);
}

/** Revokes these approvals. */
export function revokeGiven(
  context: TransactionContext,
  encounter: DecidingEncounter,
  approvals: readonly GfeItem[],
  { reviewerRef: revokedBy, reason: revocationReason }: Omit<Bodies['RevokeApprovalsRequest'], 'items'>,
): Promise<void> {
  const which = Prisma.sql`item.id = ANY(${approvals.map(({ id }) => id)}::uuid[])`;
  return endApprovals(context, encounter, { status: 'revoked', revokedBy, revocationReason }, which);
}

interface End {
  readonly status: 'superseded' | 'revoked';
  readonly revokedBy: string | null;
  readonly revocationReason: string | null;
}

type EndedItem = Pick<GfeItem, 'categoryId' | 'subcategoryId'> &
  Pick<Encounter, 'tenantId' | 'clinicId' | 'encounterNo' | 'gfeNo' | 'reference'> & {
    readonly orderNo: string | null;
  };

/**
 * Ends the patient's valid approvals that match `which`. Holds order lines that have not been shipped under those
 * approvals, or under approvals that have expired. The encounters of the approvals keep their status; each
 * event names the order. The deciding encounter is changed by its own transition.
 */
async function endApprovals(
  context: TransactionContext,
  { tenantId, id, encounterNo, patientId }: DecidingEncounter,
  { status, revokedBy, revocationReason }: End,
  which: Prisma.Sql,
): Promise<void> {
  const now = context.now();
  const items = await context.db.of(tenantId).rows<EndedItem>`
    WITH ended AS (
      UPDATE gfe_item AS item SET status = ${status}::gfe_item_status, valid_until = ${now},
        revoked_by = ${revokedBy}, revocation_reason = ${revocationReason}
      FROM encounter
      WHERE item.tenant_id = ${tenantId} AND encounter.tenant_id = ${tenantId} AND encounter.id = item.encounter_id
        AND encounter.patient_id = ${patientId}::uuid AND ${inForce(now)} AND ${which}
      RETURNING item.encounter_id, item.position, item.category_id, item.subcategory_id
    ), changed AS (
      UPDATE encounter SET version = version + 1, updated_at = ${now}
      WHERE tenant_id = ${tenantId} AND id IN (SELECT encounter_id FROM ended) AND id <> ${id}::uuid
    )
    SELECT ended.category_id AS "categoryId", ended.subcategory_id AS "subcategoryId", encounter.tenant_id AS "tenantId",
      encounter.clinic_id AS "clinicId", encounter.encounter_no AS "encounterNo", encounter.gfe_no AS "gfeNo",
      encounter.reference, "order".order_no AS "orderNo"
    FROM ended JOIN encounter ON encounter.tenant_id = ${tenantId} AND encounter.id = ended.encounter_id
      LEFT JOIN "order" ON "order".tenant_id = ${tenantId} AND "order".encounter_id = ended.encounter_id
    ORDER BY encounter.encounter_no, ended.position`;
  for (const item of items) {
    const { categoryId, subcategoryId, orderNo } = item;
    recordEvent(context, item, `gfe.${status}`, {
      ...numbersOf(item),
      patientId,
      categoryId,
      subcategoryId,
      by_encounter_id: Number(encounterNo),
      ...(orderNo === null ? {} : { order_no: orderNo }),
    });
  }
  const decided = await context.db.of(tenantId).rows<{ id: string }>`
    SELECT item.id FROM gfe_item AS item
      JOIN encounter ON encounter.tenant_id = item.tenant_id AND encounter.id = item.encounter_id
    WHERE item.tenant_id = ${tenantId} AND encounter.patient_id = ${patientId}::uuid
      AND item.status IN ('approved', ${status}::gfe_item_status) AND ${which}`;
  await holdLines(
    context,
    tenantId,
    decided.map((item) => item.id),
    status,
  );
}
