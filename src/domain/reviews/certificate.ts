import { Prisma, type GfeItem, type Patient } from '../../../generated/prisma/client.js';
import { invalidState } from '../../problem.js';
import type { LookupContext } from '../transactions/transaction.js';
import type { ShownEncounter } from '../encounters/lookup.js';
import { getPatient } from '../patients/patients.js';
import { identityColumns } from '../patients/verification.js';

/** An item with its decision. */
export type CertifiedItem = Pick<GfeItem, 'categoryName' | 'subCategoryName' | 'status' | 'validUntil'> & {
  /** The names of the treatments that the approval excepts. */
  readonly declinedTreatments: readonly string[];
  readonly decidedAt: Date | null;
  readonly reviewerRef: string | null;
  /** The provider's name; null if the provider was never imported. */
  readonly providerName: string | null;
  /** The provider's licence in the encounter's state on the day of the decision; null if none was imported. */
  readonly licence: string | null;
};

/** The patient as identified at a review: name, birth date (YYYY-MM-DD) and guardian. */
export type Identity = Pick<Patient, 'firstName' | 'lastName' | 'guardian'> & { readonly dateOfBirth: string };

/** The content of a certificate, which a clinic shows to inspectors. */
export interface Certificate {
  readonly gfeNo: string;
  readonly clinicName: string;
  /** The clinic's primary location on one line; null if there is none. */
  readonly clinicAddress: string | null;
  /** The time zone of the primary location. */
  readonly timeZone: string | null;
  readonly identity: Identity;
  /** Whether the patient's name or birth date have changed since the review. */
  readonly isIdentityChanged: boolean;
  readonly items: readonly CertifiedItem[];
}

/** SQL that joins each `item` with its `encounter` and the `provider` of the decision, if registered. */
export const itemsWithDecisions = Prisma.sql`gfe_item AS item
    JOIN encounter ON encounter.tenant_id = item.tenant_id AND encounter.id = item.encounter_id
    LEFT JOIN provider ON provider.tenant_id = encounter.tenant_id AND provider.reviewer_ref = encounter.reviewer_ref`;

/** SQL for one text: the `provider`'s licences in force in the `encounter`'s state on the day of the decision. */
export const licence = Prisma.sql`(
        SELECT string_agg(licence.state || ' ' || licence.number, ', ' ORDER BY licence.number)
        FROM provider_licence AS licence
        WHERE licence.tenant_id = provider.tenant_id AND licence.provider_id = provider.id
          AND licence.state = encounter.review_state
          AND licence.expires_on >= (item.decided_at AT TIME ZONE 'UTC')::date)`;

/** The present identity of a patient, for a review to freeze. @throws Problem patient_not_found */
export const identityOf = async (context: LookupContext, patientId: string): Promise<Identity> =>
  identityIn(await getPatient(context, patientId));

/** The identity in a patient's row. */
export function identityIn({ firstName, lastName, dateOfBirth, guardian }: Patient): Identity {
  return { firstName, lastName, dateOfBirth: dateOfBirth.toISOString().slice(0, 10), guardian };
}

/** Whether two identities differ in name or birth date. */
export const isOtherIdentity = (one: Identity, other: Identity): boolean =>
  identityColumns.some((column) => one[column] !== other[column]);

/** The certificate of a completed encounter. @throws Problem invalid_state */
export async function certify(context: LookupContext, encounter: ShownEncounter): Promise<Certificate> {
  const { db, caller } = context;
  const { id, status, gfeNo, clinicId, patientId } = encounter;
  if (status !== 'completed') throw invalidState(status);
  const [place] = await db.of(caller.tenantId).rows<Pick<Certificate, 'clinicName' | 'clinicAddress' | 'timeZone'>>`
    SELECT clinic.legal_name AS "clinicName", concat_ws(', ', place.address1, place.address2, place.city,
        place.state || ' ' || place.postal) AS "clinicAddress", place.timezone AS "timeZone"
    FROM clinic
    LEFT JOIN clinic_location AS place ON place.tenant_id = clinic.tenant_id AND place.clinic_id = clinic.id AND place.is_primary
    WHERE clinic.tenant_id = ${caller.tenantId} AND clinic.id = ${clinicId}::uuid`;
  if (!place) throw new Error('the clinic of an encounter is missing');
  const items = await db.of(caller.tenantId).rows<CertifiedItem>`
    SELECT item.category_name AS "categoryName", item.sub_category_name AS "subCategoryName", item.status,
      item.valid_until AS "validUntil", item.decided_at AS "decidedAt",
      encounter.reviewer_ref AS "reviewerRef", provider.name AS "providerName", ${licence} AS licence,
      ARRAY(SELECT treatment.name FROM encounter_treatment AS treatment
        WHERE treatment.tenant_id = item.tenant_id AND treatment.encounter_id = item.encounter_id
          AND treatment.product_id = ANY (item.declined_treatment_ids)
        ORDER BY treatment.position) AS "declinedTreatments"
    FROM ${itemsWithDecisions}
    WHERE item.tenant_id = ${caller.tenantId} AND item.encounter_id = ${id}::uuid
    ORDER BY item.position`;
  const present = await identityOf(context, patientId);
  // Null after an erasure.
  const identity = (encounter.reviewedIdentity as Identity | null) ?? present;
  return { gfeNo, ...place, identity, isIdentityChanged: isOtherIdentity(identity, present), items };
}
