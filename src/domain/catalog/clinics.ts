import { Prisma, type Clinic, type ClinicLocation } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import { readPage, type CatalogFilter } from './catalogPage.js';
import { jsonOf, type JsonOf } from '../transactions/bulkSql.js';
import { canonicalUuid } from '../values/uuid.js';

export interface ClinicFilter extends CatalogFilter {
  /** Any location's state by its two-letter code or its name, in any case; blank = no filter. */
  readonly state?: string;
  readonly sort_by: 'name' | 'createdAt' | 'updatedAt';
}

/** A clinic of a list, with its locations. */
export interface ListedClinic extends JsonOf<Clinic> {
  readonly locations: readonly JsonOf<ClinicLocation>[];
}

const element = jsonOf('Clinic', 'shown', {
  locations: Prisma.sql`(SELECT coalesce(json_agg(${jsonOf('ClinicLocation', 'place')}
      ORDER BY is_primary DESC, name, id), '[]')
    FROM clinic_location AS place WHERE place.tenant_id = shown.tenant_id AND place.clinic_id = shown.id)`,
});

/** The tenant's locations in a state. */
const inState = (tenantId: string, state: string): Prisma.Sql => Prisma.sql`clinic_location AS place
  WHERE place.tenant_id = ${tenantId} AND place.state = ANY (ARRAY(SELECT upper(${state})
    UNION SELECT code FROM ref_state WHERE lower(name) = lower(${state})))`;

export interface ClinicPage {
  readonly clinics: readonly ListedClinic[];
  /** Clinics that match the filter. */
  readonly total: number;
  /** All clinics that the caller may see, whatever the filter (D-39). */
  readonly stats: { readonly active: number; readonly inactive: number };
}

/** The caller's clinics, in a total order so that paging is stable (D-08). */
export async function listClinics(context: Context, filter: ClinicFilter): Promise<ClinicPage> {
  const { tenantId, allowedClinicIds } = context.caller;
  const state = filter.state?.trim();
  const limit = allowedClinicIds && Prisma.sql`id = ANY(${[...allowedClinicIds]}::uuid[])`;
  const { rows, total, active, inactive } = await readPage<ListedClinic>(
    context,
    {
      table: 'clinic',
      element,
      listed: Prisma.sql`listed.tenant_id = ${tenantId}`,
      counts: limit
        ? Prisma.sql`SELECT count(*) FILTER (WHERE is_active)::int AS active,
            count(*) FILTER (WHERE NOT is_active)::int AS inactive
          FROM clinic WHERE tenant_id = ${tenantId} AND ${limit}`
        : Prisma.sql`SELECT active_clinics AS active, inactive_clinics AS inactive FROM tenant WHERE id = ${tenantId}`,
      conditions: [
        ...(limit ? [limit] : []),
        ...(state
          ? [
              // What a search finds is looked up by itself; without one, a state of few clinics is read by its index.
              filter.search
                ? Prisma.sql`EXISTS (SELECT FROM ${inState(tenantId, state)} AND place.clinic_id = listed.id)`
                : Prisma.sql`listed.id = ANY (ARRAY(SELECT place.clinic_id FROM ${inState(tenantId, state)}))`,
            ]
          : []),
      ],
      searched: ['name_key', 'email_key'],
    },
    filter,
  );
  return { clinics: rows, total, stats: { active, inactive } };
}

/** Clinics of the tenant, or those that the API client is limited to. */
export function visibleClinics({ caller }: Pick<Context, 'caller'>): { tenantId: string; id?: { in: string[] } } {
  const { tenantId, allowedClinicIds } = caller;
  return allowedClinicIds ? { tenantId, id: { in: [...allowedClinicIds] } } : { tenantId };
}

/** Whether the API client's clinic limit, if any, includes the clinic. */
export function mayUseClinic({ caller }: Pick<Context, 'caller'>, clinicId: string): boolean {
  return caller.allowedClinicIds?.includes(canonicalUuid(clinicId)) ?? true;
}
