import { Prisma, type GfeItem } from '../../../generated/prisma/client.js';
import { invalidState } from '../../problem.js';
import type { LookupContext } from '../transactions/transaction.js';
import type { ShownEncounter } from '../encounters/lookup.js';

/** An item with its decision, or the decision that it reuses. */
export type CertifiedItem = Pick<
  GfeItem,
  'categoryName' | 'subCategoryName' | 'status' | 'validUntil' | 'denialReason' | 'revocationReason'
> & {
  /** The encounter of the decision. */
  readonly gfeNo: string;
  readonly decidedAt: Date | null;
  readonly reviewerRef: string | null;
  /** Null if the provider is not imported. */
  readonly providerName: string | null;
  /** The licence in the state of the encounter; null if none is imported. */
  readonly licence: string | null;
};

/** The content of a certificate, which a clinic shows to inspectors. */
export interface Certificate {
  readonly gfeNo: string;
  readonly clinicName: string;
  /** The primary location on one line; null if there is none. */
  readonly clinicAddress: string | null;
  readonly patientName: string;
  readonly dateOfBirth: string;
  readonly items: readonly CertifiedItem[];
}

/**
 * Each `item` with the item that was decided (`given`, another one if it reuses an approval), the `encounter` of that decision
 * and its `provider`, if one is registered.
 */
export const itemsWithDecisions = Prisma.sql`gfe_item AS item
    JOIN encounter ON encounter.tenant_id = item.tenant_id
      AND encounter.id = coalesce(item.reused_from_encounter_id, item.encounter_id)
    JOIN gfe_item AS given ON given.tenant_id = encounter.tenant_id AND given.encounter_id = encounter.id
      AND given.category_id = item.category_id AND given.subcategory_id = item.subcategory_id
    LEFT JOIN provider ON provider.tenant_id = encounter.tenant_id AND provider.reviewer_ref = encounter.reviewer_ref`;

/** The licences of the `provider` in the state of the `encounter` as one text; null without one. */
export const licence = Prisma.sql`(
        SELECT string_agg(licence.state || ' ' || licence.number, ', ' ORDER BY licence.number)
        FROM provider_licence AS licence
        WHERE licence.tenant_id = provider.tenant_id AND licence.provider_id = provider.id
          AND licence.state = encounter.review_state)`;

/** The certificate of a completed encounter. @throws Problem invalid_state */
export async function certify({ db, caller }: LookupContext, encounter: ShownEncounter): Promise<Certificate> {
  const { id, status, gfeNo } = encounter;
  if (status !== 'completed') throw invalidState(status);
  const [place] = await db.of(caller.tenantId).rows<Omit<Certificate, 'gfeNo' | 'items'>>`
    SELECT clinic.legal_name AS "clinicName", concat_ws(', ', place.address1, place.address2, place.city,
        place.state || ' ' || place.postal) AS "clinicAddress",
      patient.first_name || ' ' || patient.last_name AS "patientName", patient.date_of_birth::text AS "dateOfBirth"
    FROM encounter
    JOIN clinic ON clinic.tenant_id = encounter.tenant_id AND clinic.id = encounter.clinic_id
    JOIN client AS patient ON patient.tenant_id = encounter.tenant_id AND patient.id = encounter.patient_id
    LEFT JOIN clinic_location AS place ON place.tenant_id = clinic.tenant_id AND place.clinic_id = clinic.id AND place.is_primary
    WHERE encounter.tenant_id = ${caller.tenantId} AND encounter.id = ${id}::uuid`;
  if (!place) throw new Error('the clinic or the patient of an encounter is missing');
  const items = await db.of(caller.tenantId).rows<CertifiedItem>`
    SELECT item.category_name AS "categoryName", item.sub_category_name AS "subCategoryName", item.status,
      item.valid_until AS "validUntil", item.denial_reason AS "denialReason", item.revocation_reason AS "revocationReason",
      encounter.gfe_no AS "gfeNo", given.decided_at AS "decidedAt", encounter.reviewer_ref AS "reviewerRef",
      provider.name AS "providerName", ${licence} AS licence
    FROM ${itemsWithDecisions}
    WHERE item.tenant_id = ${caller.tenantId} AND item.encounter_id = ${id}::uuid
    ORDER BY item.position`;
  return { gfeNo, ...place, items };
}
