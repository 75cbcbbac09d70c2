import type { Prisma } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import { canonicalUuid } from '../values/uuid.js';
import { pageSlice, searchNeedle, type Page } from '../values/paging.js';

export interface ClinicFilter extends Page {
  readonly isActive?: boolean;
  readonly search?: string;
  /** Two-letter code of any location's state, in any case. */
  readonly state?: string;
  readonly sort_by: 'name' | 'createdAt' | 'updatedAt';
  readonly sort_order: 'asc' | 'desc';
}

const withLocations = {
  locations: { orderBy: [{ isPrimary: 'desc' }, { name: 'asc' }, { id: 'asc' }] },
} satisfies Prisma.ClinicInclude;

export type ClinicWithLocations = Prisma.ClinicGetPayload<{ include: typeof withLocations }>;

export interface ClinicPage {
  readonly clinics: ClinicWithLocations[];
  /** Clinics that match the filter. */
  readonly total: number;
  /** All clinics that the caller may see, whatever the filter (D-39). */
  readonly stats: { readonly active: number; readonly inactive: number };
}

/** The caller's clinics, in a total order so that paging is stable (D-08). */
export async function listClinics(context: Context, filter: ClinicFilter): Promise<ClinicPage> {
  const where = { ...visibleClinics(context), ...matching(context.caller.tenantId, filter) };
  const [clinics, total, counts] = await Promise.all([
    context.db.clinic.findMany({ where, include: withLocations, orderBy: orderOf(filter), ...pageSlice(filter) }),
    context.db.clinic.count({ where }),
    context.db.clinic.groupBy({ by: ['isActive'], where: visibleClinics(context), _count: true }),
  ]);
  const count = (isActive: boolean): number => counts.find((row) => row.isActive === isActive)?._count ?? 0;
  return { clinics, total, stats: { active: count(true), inactive: count(false) } };
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

function matching(tenantId: string, { isActive, search, state }: ClinicFilter): Prisma.ClinicWhereInput {
  const needle = searchNeedle(search);
  const code = state?.trim().toUpperCase();
  return {
    ...(isActive === undefined ? {} : { isActive }),
    ...(code ? { locations: { some: { tenantId, state: code } } } : {}),
    ...(needle ? { OR: [{ nameKey: { contains: needle } }, { emailKey: { contains: needle } }] } : {}),
  };
}

function orderOf({ sort_by, sort_order }: ClinicFilter): Prisma.ClinicOrderByWithRelationInput[] {
  const ties: Prisma.ClinicOrderByWithRelationInput[] = [{ createdAt: 'desc' }, { id: 'asc' }];
  if (sort_by === 'name') return [{ nameKey: sort_order }, ...ties];
  if (sort_by === 'updatedAt') return [{ updatedAt: sort_order }, ...ties];
  return [{ createdAt: sort_order }, { id: 'asc' }];
}
