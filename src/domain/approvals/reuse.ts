import { Prisma, type GfeItem } from '../../../generated/prisma/client.js';
import { itemKey, type ItemIdentity } from '../catalog/itemKey.js';
import { keysOf } from './duplicates.js';
import { inForce } from './inForce.js';
import { isAccepted } from '../providers/licences.js';
import type { ReadContext } from '../transactions/transaction.js';

interface ReuseQuestion {
  readonly clinicId: string;
  readonly patientId: string;
  /** The US state whose licence the new encounter needs. */
  readonly reviewState: string | null;
  /** The requested treatments; `rx` is null if a treatment needs no prescription. */
  readonly treatments: readonly (ItemIdentity & { readonly id: string; readonly rx: object | null })[];
  /** How many months after its decision the tenant reuses an approval; null = never. */
  readonly reuseMonths: number | null;
  /** Whether the request has documents or notes. */
  readonly hasNewInformation: boolean;
  /** Whether the review is synchronous. */
  readonly isLive: boolean;
  readonly isScheduled: boolean;
}

/** `validUntil` null = unlimited. */
export type ReusableApproval = Pick<GfeItem, 'categoryId' | 'subcategoryId' | 'validUntil' | 'encounterId'>;

/**
 * The approvals that clear items of a new encounter without a provider, by {@link itemKey}; of several approvals the
 * one that ends last (R-50). Only a provider's approvals count, because reused ones end with them. Within a
 * transaction the patient must be locked, so that no concurrent decision contradicts the result before the commit.
 */
export async function reusableApprovals(
  context: ReadContext,
  question: ReuseQuestion,
): Promise<Map<string, ReusableApproval>> {
  const { treatments, reuseMonths: months, hasNewInformation, isLive, isScheduled } = question;
  if (months === null) return new Map();
  const prescribed = new Set(treatments.filter(({ rx }) => rx !== null).map(itemKey));
  const wanted = treatments.filter((treatment) => !prescribed.has(itemKey(treatment)));
  if (hasNewInformation || (isLive && isScheduled) || wanted.length === 0) return new Map();
  const approvals = await findApprovals(context, { ...question, treatments: wanted }, months);
  // For several approvals with one key, the Map keeps the last one.
  return new Map(approvals.map((approval) => [itemKey(approval), approval]));
}

/** Selects the approvals that meet conditions 2, 5 and 6 of R-50. */
function findApprovals(
  { db, caller, now }: ReadContext,
  { patientId, clinicId, treatments, reviewState, isLive, isScheduled }: ReuseQuestion,
  months: number,
): Promise<ReusableApproval[]> {
  const { tenantId } = caller;
  return db.of(tenantId).rows<ReusableApproval>`
    SELECT item.category_id AS "categoryId", item.subcategory_id AS "subcategoryId",
      item.valid_until AS "validUntil", item.encounter_id AS "encounterId"
    FROM client patient JOIN tenant ON tenant.id = patient.tenant_id
      JOIN encounter ON encounter.tenant_id = patient.tenant_id AND encounter.patient_id = patient.id
      JOIN gfe_item item ON item.tenant_id = encounter.tenant_id AND item.encounter_id = encounter.id
    WHERE patient.tenant_id = ${tenantId} AND patient.id = ${patientId}::uuid
      AND encounter.clinic_id = ${clinicId}::uuid AND encounter.status = 'completed'
      AND (item.category_id, item.subcategory_id) IN (${keysOf(treatments)})
      AND ${inForce(now(), ...treatments.map(({ id }) => id))} AND item.reused_from_encounter_id IS NULL
      AND (item.valid_until IS NOT NULL OR NOT item.review_recurring)
      AND item.decided_at AT TIME ZONE 'UTC' + make_interval(months => ${months}::int)
        > ${now()}::timestamptz AT TIME ZONE 'UTC'
      AND (encounter.review_type = 'synchronous' OR NOT ${isLive || isScheduled})
      AND item.facts_version = patient.facts_version
      AND ${isAccepted(Prisma.sql`encounter.reviewer_ref`, Prisma.sql`encounter.review_type`, reviewState, now())}
    ORDER BY item.valid_until ASC NULLS LAST, item.decided_at, item.id`;
}
