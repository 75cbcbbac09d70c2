import { Prisma } from '../../../generated/prisma/client.js';
import type { Caller, Context } from '../../context.js';
import { canonicalUuid } from '../transactions/uuid.js';

/** The API client whose limits restrict a query: as values (from a {@link PatientViewer}) or as SQL expressions. */
export interface Viewer {
  readonly tenantId: string | Prisma.Sql;
  readonly apiClientId: string | Prisma.Sql;
  /** Null = every clinic of the tenant; as an SQL expression, an empty array. */
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
 * Conditions that limit a list to the clinics that the caller may see, or to the clinic `asked` if the caller may see
 * that one. A single clinic becomes an equality, so that an index can return the rows in the list's order.
 */
export function atClinics(context: Pick<Context, 'caller'>, column: Prisma.Sql, asked?: string): Prisma.Sql[] {
  const { allowedClinicIds } = context.caller;
  const clinics = asked === undefined ? allowedClinicIds : [asked].filter((id) => mayUseClinic(context, id));
  if (clinics === null) return [];
  const [one, ...others] = clinics;
  if (one === undefined) return [Prisma.sql`false`];
  return [
    others.length > 0 ? Prisma.sql`${column} = ANY (${[...clinics]}::uuid[])` : Prisma.sql`${column} = ${one}::uuid`,
  ];
}

export const isLimited = ({ allowedClinicIds, allowedPharmacyIds }: Caller): boolean =>
  (allowedClinicIds ?? allowedPharmacyIds) !== null;

/** A filter of requests: a client that is limited to clinics or pharmacies sees only its own. */
export const ownRequests = (caller: Caller): { readonly clientId?: string } =>
  isLimited(caller) ? { clientId: caller.clientId } : {};

export function mayUseClinic({ caller }: Pick<Context, 'caller'>, clinicId: string): boolean {
  return caller.allowedClinicIds?.includes(canonicalUuid(clinicId)) ?? true;
}
