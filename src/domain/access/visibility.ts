import { Prisma } from '../../../generated/prisma/client.js';
import type { Caller, Context } from '../../context.js';
import { canonicalUuid } from '../transactions/uuid.js';

/** An API client whose limits apply: the values of a {@link PatientViewer}, or SQL expressions. */
export interface Viewer {
  readonly tenantId: string | Prisma.Sql;
  readonly apiClientId: string | Prisma.Sql;
  /** Null or, in SQL, an empty array = every clinic of the tenant. */
  readonly allowedClinicIds: readonly string[] | null | Prisma.Sql;
}

export type PatientViewer = Pick<Caller, 'tenantId' | 'apiClientId' | 'allowedClinicIds'>;

/** A condition on the clinics (an array of UUIDs) of a limited viewer; others see everything. */
export function withinClinics(
  { allowedClinicIds: clinics }: Viewer,
  condition: (clinics: Prisma.Sql) => Prisma.Sql,
): Prisma.Sql {
  if (clinics === null) return Prisma.sql`true`;
  if (!(clinics instanceof Prisma.Sql)) return condition(Prisma.sql`${[...clinics]}::uuid[]`);
  return Prisma.sql`(cardinality(${clinics}) = 0 OR ${condition(clinics)})`;
}

/**
 * Whether the viewer may see a row of `client`: limited clients see the patients whom they created, who have an
 * encounter at their clinics, or whose documents they stored.
 */
export function visiblePatient(viewer: Viewer, alias: string): Prisma.Sql {
  const { tenantId, apiClientId } = viewer;
  const patient = Prisma.raw(alias);
  return withinClinics(
    viewer,
    (clinics) => Prisma.sql`(${patient}.created_by_api_client_id = ${apiClientId}::uuid
      OR EXISTS (SELECT FROM encounter AS visit WHERE visit.tenant_id = ${tenantId}
        AND visit.patient_id = ${patient}.id AND visit.clinic_id = ANY (${clinics}))
      OR EXISTS (SELECT FROM document AS file WHERE file.tenant_id = ${tenantId}
        AND file.patient_id = ${patient}.id AND file.uploaded_by_id = ${apiClientId}::uuid))`,
  );
}

/** Whether the caller may see the patient of a row of `document`. */
export const ofVisiblePatient = (caller: PatientViewer): Prisma.Sql => Prisma.sql`
  EXISTS (SELECT FROM client WHERE client.tenant_id = ${caller.tenantId} AND client.id = document.patient_id
    AND ${visiblePatient(caller, 'client')})`;

/** A condition on a column of clinic ids. One clinic becomes an equality, so that an index provides the order. */
export function ofClinics(column: Prisma.Sql, [one, ...others]: readonly string[]): Prisma.Sql {
  if (one === undefined) return Prisma.sql`false`;
  if (others.length === 0) return Prisma.sql`${column} = ${one}::uuid`;
  return Prisma.sql`${column} = ANY (${[one, ...others]}::uuid[])`;
}

export function mayUseClinic({ caller }: Pick<Context, 'caller'>, clinicId: string): boolean {
  return caller.allowedClinicIds?.includes(canonicalUuid(clinicId)) ?? true;
}
