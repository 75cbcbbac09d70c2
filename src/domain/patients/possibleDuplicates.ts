import { Prisma, type Encounter, type GfeItem, type Patient } from '../../../generated/prisma/client.js';
import { groupedBy } from '../transactions/rows.js';
import type { ReadContext } from '../transactions/transaction.js';
import { isErased } from './identity.js';

interface Denial
  extends
    Pick<Encounter, 'encounterNo' | 'clinicId'>,
    Pick<GfeItem, 'id' | 'categoryId' | 'categoryName' | 'subcategoryId' | 'subCategoryName'> {
  readonly denialReason: string;
  readonly decidedAt: Date;
}

/** Another patient who may be the same person, with the denials of that patient. */
export interface PossibleDuplicate extends Pick<Patient, 'id' | 'firstName' | 'lastName'> {
  readonly hasSameLastName: boolean;
  readonly hasSamePhone: boolean;
  readonly denials: readonly Denial[];
}

/** The columns that find possible duplicates. */
export type Person = Pick<Patient, 'id' | 'lastName' | 'phone' | 'dateOfBirth'>;

const MAX_PATIENTS = 20;
/** Maximum of matching patients, the last created, whose denials are read: a placeholder name may match thousands. */
const MAX_MATCHES = 1_000;
/** Maximum of denials, of all possible duplicates together. */
const MAX_DENIALS = 100;

const OF_ENCOUNTER = Prisma.sql`FROM encounter JOIN gfe_item AS item
  ON item.tenant_id = encounter.tenant_id AND item.encounter_id = encounter.id AND item.status = 'denied'`;

/**
 * Finds other patients of the tenant with this one's birth date and its last name or phone number, those with the
 * latest denials first. Includes denials at clinics that the caller may not see (D-242).
 */
export async function findPossibleDuplicates(
  { db, caller: { tenantId } }: ReadContext,
  { id, lastName, phone, dateOfBirth }: Person,
): Promise<{ readonly patients: readonly PossibleDuplicate[]; readonly hasMore: boolean }> {
  const tenant = db.of(tenantId);
  const hasSameLastName = Prisma.sql`lower(client.last_name) = lower(${lastName})`;
  const hasSamePhone = Prisma.sql`client.phone = ${phone}`;
  const found = await tenant.rows<Omit<PossibleDuplicate, 'denials'>>`
    SELECT id, "firstName", "lastName", "hasSameLastName", "hasSamePhone"
    FROM (
      SELECT client.id, client.first_name AS "firstName", client.last_name AS "lastName", client.created_at,
        ${hasSameLastName} AS "hasSameLastName", ${hasSamePhone} AS "hasSamePhone"
      FROM client
      WHERE client.tenant_id = ${tenantId} AND client.date_of_birth = ${dateOfBirth}::date AND client.id <> ${id}::uuid
        AND (${hasSameLastName} OR ${hasSamePhone}) AND NOT ${isErased('client')}
      ORDER BY client.created_at DESC, client.id DESC LIMIT ${MAX_MATCHES}
    ) AS match
    ORDER BY (SELECT max(item.decided_at) ${OF_ENCOUNTER}
      WHERE encounter.tenant_id = ${tenantId} AND encounter.patient_id = match.id) DESC NULLS LAST,
      created_at DESC, id DESC LIMIT ${MAX_PATIENTS + 1}`;
  const patients = found.slice(0, MAX_PATIENTS);
  const denials = await tenant.rows<Denial & { readonly patientId: string }>`
    SELECT encounter.patient_id AS "patientId", encounter.encounter_no AS "encounterNo", encounter.clinic_id AS "clinicId",
      item.id, item.category_id AS "categoryId", item.category_name AS "categoryName",
      item.subcategory_id AS "subcategoryId", item.sub_category_name AS "subCategoryName",
      item.denial_reason AS "denialReason", item.decided_at AS "decidedAt"
    ${OF_ENCOUNTER}
    WHERE encounter.tenant_id = ${tenantId} AND encounter.patient_id = ANY(${patients.map((patient) => patient.id)}::uuid[])
    ORDER BY item.decided_at DESC, encounter.encounter_no DESC, item.position LIMIT ${MAX_DENIALS + 1}`;
  const denialsOf = groupedBy(denials.slice(0, MAX_DENIALS), ({ patientId }) => patientId);
  return {
    patients: patients.map((patient) => ({ ...patient, denials: denialsOf(patient.id) })),
    hasMore: found.length > MAX_PATIENTS || denials.length > MAX_DENIALS,
  };
}
