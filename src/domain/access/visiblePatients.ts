import { Prisma } from '../../../generated/prisma/client.js';
import type { Caller } from '../../context.js';

/** Whose view of patients it is. */
export type PatientViewer = Pick<Caller, 'tenantId' | 'apiClientId' | 'allowedClinicIds'>;

/**
 * The condition on a row of `client` that the caller may see the patient. A client that is limited to clinics
 * sees whom it created, who has an encounter at one of them, and whom it stored a document of.
 * @param alias of the row
 */
export function visiblePatient({ tenantId, apiClientId, allowedClinicIds }: PatientViewer, alias: string): Prisma.Sql {
  if (allowedClinicIds === null) return Prisma.sql`true`;
  const patient = Prisma.raw(alias);
  return Prisma.sql`(${patient}.created_by_api_client_id = ${apiClientId}::uuid
    OR EXISTS (SELECT FROM encounter AS visit WHERE visit.tenant_id = ${tenantId}
      AND visit.patient_id = ${patient}.id AND visit.clinic_id = ANY (${[...allowedClinicIds]}::uuid[]))
    OR EXISTS (SELECT FROM document AS file WHERE file.tenant_id = ${tenantId}
      AND file.patient_id = ${patient}.id AND file.uploaded_by_id = ${apiClientId}::uuid))`;
}
