import { Prisma, type Clinic, type ClinicLocation } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { readPage } from './catalogPage.js';
import { jsonOf, type JsonOf } from '../transactions/bulkSql.js';

export type ClinicFilter = Input<'listClinics'>['query'];

export interface ListedClinic extends JsonOf<Clinic> {
  readonly locations: readonly JsonOf<ClinicLocation>[];
}

const element = jsonOf('Clinic', 'shown', {
  locations: Prisma.sql`(SELECT coalesce(json_agg(${jsonOf('ClinicLocation', 'place')}
      ORDER BY is_primary DESC, name, id), '[]')
    FROM clinic_location AS place WHERE place.tenant_id = shown.tenant_id AND place.clinic_id = shown.id)`,
});

/** An SQL condition: whether a clinic has a location in the state, given by two-letter code or name, in any case. */
function inState(tenantId: string, state: string): Prisma.Sql {
  return Prisma.sql`listed.id = ANY (ARRAY(SELECT place.clinic_id FROM clinic_location AS place
    WHERE place.tenant_id = ${tenantId} AND place.state = ANY (ARRAY(SELECT upper(${state})
      UNION SELECT code FROM ref_state WHERE lower(name) = lower(${state})))))`;
}

/** Lists the caller's clinics, in a total order so that paging is stable. `stats` ignore the filter. */
export async function listClinics(context: Context, filter: ClinicFilter) {
  const { tenantId, allowedClinicIds } = context.caller;
  const state = filter.state?.trim();
  const limit = allowedClinicIds && Prisma.sql`id = ANY(${[...allowedClinicIds]}::uuid[])`;
  const conditions = [...(limit ? [limit] : []), ...(state ? [inState(tenantId, state)] : [])];
  const { rows, total, active, inactive } = await readPage<ListedClinic>(
    context,
    {
      table: 'clinic',
      element,
      first: [],
      listed: Prisma.sql`listed.tenant_id = ${tenantId}`,
      counts: limit
        ? Prisma.sql`SELECT count(*) FILTER (WHERE is_active)::int AS active,
            count(*) FILTER (WHERE NOT is_active)::int AS inactive
          FROM clinic WHERE tenant_id = ${tenantId} AND ${limit}`
        : Prisma.sql`SELECT active_clinics AS active, inactive_clinics AS inactive FROM tenant WHERE id = ${tenantId}`,
      conditions,
      isNarrow: conditions.length > 0,
      searched: ['name_key', 'email_key'],
    },
    filter,
  );
  return { clinics: rows, total, stats: { active, inactive } };
}
