import { Prisma, type GfeItem } from '../../../generated/prisma/client.js';
import { itemKey, type ItemIdentity } from '../catalog/itemKey.js';
import { keysOf } from './duplicates.js';
import type { ReadContext } from '../transactions/transaction.js';

interface ReuseQuestion {
  readonly clinicId: string;
  readonly patientId: string;
  /** `rx` null = no prescription. */
  readonly treatments: readonly (ItemIdentity & { readonly rx: object | null })[];
  /** Months during which the tenant reuses an approval; null = never. */
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
 * one that ends last (R-50, D-75). Only approvals by a provider count: reused ones end with their origin. The patient
 * must be locked, so that in a transaction no concurrent decision contradicts the result before the commit.
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
  // The Map keeps the last approval of each key.
  return new Map(approvals.map((approval) => [itemKey(approval), approval]));
}

/** Conditions 2 and 5 to 7 of R-50. A row with the time of the decision counts as later. */
function findApprovals(
  { db, caller, now }: ReadContext,
  { patientId, clinicId, treatments, isLive, isScheduled }: ReuseQuestion,
  months: number,
): Promise<ReusableApproval[]> {
  const { tenantId } = caller;
  return db.of(tenantId).rows<ReusableApproval>`
    SELECT item.category_id AS "categoryId", item.subcategory_id AS "subcategoryId",
      item.valid_until AS "validUntil", item.encounter_id AS "encounterId"
    FROM client patient
      JOIN encounter ON encounter.tenant_id = patient.tenant_id AND encounter.patient_id = patient.id
      JOIN gfe_item item ON item.tenant_id = encounter.tenant_id AND item.encounter_id = encounter.id
    WHERE patient.tenant_id = ${tenantId} AND patient.id = ${patientId}::uuid
      AND encounter.clinic_id = ${clinicId}::uuid AND encounter.status = 'completed'
      AND (item.category_id, item.subcategory_id) IN (${keysOf(treatments)})
      AND item.status = 'approved' AND item.reused_from_encounter_id IS NULL
      AND (item.valid_until > ${now()} OR item.valid_until IS NULL AND NOT item.review_recurring)
      AND item.decided_at AT TIME ZONE 'UTC' + make_interval(months => ${months}::int)
        > ${now()}::timestamptz AT TIME ZONE 'UTC'
      AND (encounter.review_type = 'synchronous' OR NOT ${isLive || isScheduled})
      AND (patient.medical_history_changed_at >= item.decided_at) IS NOT TRUE
      AND NOT EXISTS (${contradiction}) AND NOT EXISTS (${unreadDocument})
    ORDER BY item.valid_until ASC NULLS LAST, item.decided_at, item.id`;
}

/**
 * An encounter of the patient with the same item, at any clinic, in which a provider decided against the approval, or
 * which has new information that no approval is based on. Encounters of the same time are ordered by number.
 */
const contradiction = Prisma.sql`
  SELECT FROM encounter other
    JOIN gfe_item its ON its.tenant_id = other.tenant_id AND its.encounter_id = other.id
  WHERE other.tenant_id = patient.tenant_id AND other.patient_id = patient.id
    AND its.category_id = item.category_id AND its.subcategory_id = item.subcategory_id
    AND (its.status = 'denied' AND its.decided_at > item.decided_at
      OR other.cancel_reason = 'clinically_inappropriate' AND other.cancelled_at >= item.decided_at
      OR NOT (its.status = 'approved' AND its.reused_from_encounter_id IS NULL)
        AND (other.created_at >= item.decided_at AND other.encounter_no > encounter.encounter_no
            AND (other.additional_notes ~ '\\S' OR EXISTS (
              SELECT FROM encounter_document news
              WHERE news.tenant_id = other.tenant_id AND news.encounter_id = other.id))
          OR EXISTS (
            SELECT FROM encounter_information news
            WHERE news.tenant_id = other.tenant_id AND news.encounter_id = other.id
              AND news.provided_at >= item.decided_at)))`;

/** A clinical document that arrived after the approval and that no later approval of the item is based on. */
const unreadDocument = Prisma.sql`
  SELECT FROM document
  WHERE document.tenant_id = patient.tenant_id AND document.patient_id = patient.id
    AND document.doc_type IN ('intake-forms', 'lab-results') AND document.created_at >= item.decided_at
    AND NOT EXISTS (
      SELECT FROM encounter_document included
        JOIN gfe_item its ON its.tenant_id = included.tenant_id AND its.encounter_id = included.encounter_id
      WHERE included.tenant_id = document.tenant_id AND included.document_id = document.id
        AND its.category_id = item.category_id AND its.subcategory_id = item.subcategory_id
        AND its.status = 'approved' AND its.reused_from_encounter_id IS NULL)`;
