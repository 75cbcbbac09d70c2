import { Prisma } from '../../../generated/prisma/client.js';
import { within, type PatientViewer, type Viewer } from '../access/limits.js';

/**
 * An SQL condition for rows of `client`: a limited viewer sees the patients that it created, that have an
 * encounter at its clinics, or whose documents it stored.
 */
export function visiblePatient(viewer: Viewer, alias: string): Prisma.Sql {
  const { tenantId, apiClientId } = viewer;
  const patient = Prisma.raw(alias);
  return within(
    viewer.allowedClinicIds,
    (clinics) => Prisma.sql`(${patient}.created_by_api_client_id = ${apiClientId}::uuid
      OR EXISTS (SELECT FROM encounter AS visit WHERE visit.tenant_id = ${tenantId}
        AND visit.patient_id = ${patient}.id AND visit.clinic_id = ANY (${clinics}))
      OR EXISTS (SELECT FROM document AS file WHERE file.tenant_id = ${tenantId}
        AND file.patient_id = ${patient}.id AND file.uploaded_by_id = ${apiClientId}::uuid))`,
  );
}

/** {@link visiblePatient} as a filter for queries of Prisma's models. */
export function visiblePatients({ tenantId, apiClientId, allowedClinicIds }: PatientViewer): Prisma.PatientWhereInput {
  if (allowedClinicIds === null) return { tenantId };
  const visit = { tenantId, clinicId: { in: [...allowedClinicIds] } };
  const file = { tenantId, uploadedById: apiClientId };
  const isVisible = [
    { createdByApiClientId: apiClientId },
    { encounters: { some: visit } },
    { documents: { some: file } },
  ];
  return { tenantId, OR: isVisible };
}

/** An SQL condition for rows of `document`: whether the caller may see the document's patient. */
export const ofVisiblePatient = (caller: PatientViewer): Prisma.Sql => Prisma.sql`
  EXISTS (SELECT FROM client WHERE client.tenant_id = ${caller.tenantId} AND client.id = document.patient_id
    AND ${visiblePatient(caller, 'client')})`;
