import { Prisma, type Clinic, type ClinicLocation } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { Problem } from '../../problem.js';
import { mayUseClinic } from '../access/limits.js';
import { readPage } from './catalogPage.js';
import { forTenant, jsonOf, type JsonOf } from '../transactions/bulkSql.js';

export type ClinicFilter = Input<'listClinics'>['query'];

/** A clinic that a view can show: an element of the list, or one that was read by its id. */
export type ShownClinic = ListedClinic | Awaited<ReturnType<typeof getClinic>>;

interface ListedClinic extends JsonOf<Clinic> {
  readonly locations: readonly JsonOf<ClinicLocation>[];
}

const element = forTenant((tenantId) =>
  jsonOf('Clinic', 'shown', {
    locations: Prisma.sql`(SELECT coalesce(json_agg(${jsonOf('ClinicLocation', 'place')}
        ORDER BY is_primary DESC, name, id), '[]')
      FROM clinic_location AS place WHERE place.tenant_id = ${tenantId} AND place.clinic_id = shown.id)`,
  }),
);

/** An SQL condition: whether a clinic has a location in the state, by two-letter code or name in any letter case. */
function inState(tenantId: string, state: string): Prisma.Sql {
  return Prisma.sql`listed.id = ANY (ARRAY(SELECT place.clinic_id FROM clinic_location AS place
    WHERE place.tenant_id = ${tenantId} AND place.state = ANY (ARRAY(SELECT upper(${state})
      UNION SELECT code FROM ref_state WHERE lower(name) = lower(${state})))))`;
}

/** A clinic that the caller may see. @throws Problem clinic_not_found */
export async function getClinic(context: Context, id: string) {
  const { db, caller } = context;
  if (!mayUseClinic(context, id)) throw new Problem('clinic_not_found');
  const clinic = await db.prisma.clinic.findUnique({
    where: { tenantId_id: { tenantId: caller.tenantId, id } },
    include: { locations: { orderBy: [{ isPrimary: 'desc' }, { name: 'asc' }, { id: 'asc' }] } },
  });
  if (!clinic) throw new Problem('clinic_not_found');
  return clinic;
}

/** Lists the caller's clinics, in a total order so that paging is stable. `stats` ignore the filter. */
export async function listClinics(context: Context, filter: ClinicFilter) {
  const { tenantId, allowedClinicIds } = context.caller;
  const state = filter.state?.trim();
  const limit = allowedClinicIds ? [Prisma.sql`listed.id = ANY(${[...allowedClinicIds]}::uuid[])`] : [];
  const visible = Prisma.join([Prisma.sql`listed.tenant_id = ${tenantId}`, ...limit], ' AND ');
  // Without a filter, the total is the sum of the statistics.
  const isCounted = state !== undefined || filter.isActive !== undefined || filter.search !== undefined;
  const page = await readPage<ListedClinic, { stats: { active: number; inactive: number } }>(
    context,
    {
      table: 'clinic',
      element: element(tenantId),
      first: [],
      conditions: [...limit, ...(state ? [inState(tenantId, state)] : [])],
      searched: ['name_key', 'email_key'],
      isCounted,
      more: Prisma.sql`, (SELECT json_build_object('active', count(*) FILTER (WHERE is_active),
        'inactive', count(*) FILTER (WHERE NOT is_active)) FROM clinic AS listed WHERE ${visible}) AS stats`,
    },
    filter,
  );
  return isCounted ? page : { ...page, total: page.stats.active + page.stats.inactive };
}
