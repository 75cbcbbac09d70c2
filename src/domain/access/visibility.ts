import { Prisma } from '../../../generated/prisma/client.js';
import type { Caller, Context } from '../../context.js';
import { canonicalUuid } from '../transactions/uuid.js';

/** The API client whose limits restrict a query: as values (from a {@link PatientViewer}) or as SQL expressions. */
export interface Viewer {
  readonly tenantId: string | Prisma.Sql;
  readonly apiClientId: string | Prisma.Sql;
  /** Null or, in SQL, an empty array = every clinic of the tenant. */
  readonly allowedClinicIds: readonly string[] | null | Prisma.Sql;
}

export type PatientViewer = Pick<Caller, 'tenantId' | 'apiClientId' | 'allowedClinicIds'>;

/** Restricts a query to the clinics or pharmacies (an array of UUIDs) of a limited viewer; true without such a limit. */
export function within(
  allowed: readonly string[] | null | Prisma.Sql,
  condition: (ids: Prisma.Sql) => Prisma.Sql,
): Prisma.Sql {
  if (allowed === null) return Prisma.sql`true`;
  if (!(allowed instanceof Prisma.Sql)) return condition(Prisma.sql`${[...allowed]}::uuid[]`);
  return Prisma.sql`(cardinality(${allowed}) = 0 OR ${condition(allowed)})`;
}

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

/** {@link visiblePatient} for queries of Prisma's models, which name the tenant. */
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

/** An SQL condition on clinic ids. A single clinic becomes an equality, with which an index gives the list's order. */
export function ofClinics(column: Prisma.Sql, [one, ...others]: readonly string[]): Prisma.Sql {
  if (one === undefined) return Prisma.sql`false`;
  if (others.length === 0) return Prisma.sql`${column} = ${one}::uuid`;
  return Prisma.sql`${column} = ANY (${[one, ...others]}::uuid[])`;
}

export function mayUseClinic({ caller }: Pick<Context, 'caller'>, clinicId: string): boolean {
  return caller.allowedClinicIds?.includes(canonicalUuid(clinicId)) ?? true;
}
