import type { Prisma } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import { mayUseClinic } from './clinics.js';
import { pageSlice, searchNeedle, type Page } from '../values/paging.js';

export interface ProductFilter extends Page {
  readonly isActive?: boolean;
  readonly search?: string;
  readonly categoryId?: string;
  /** Only products that may be chosen at this clinic (D-38). */
  readonly clinicId?: string;
  readonly sort_by: 'name' | 'sku' | 'createdAt' | 'updatedAt';
  readonly sort_order: 'asc' | 'desc';
}

const withDetails = {
  category: true,
  subcategory: true,
  rx: true,
  availability: { include: { clinic: true }, orderBy: { id: 'asc' } },
  offer: { include: { variants: { orderBy: { id: 'asc' } } } },
} satisfies Prisma.ProductInclude;

export type ProductWithDetails = Prisma.ProductGetPayload<{ include: typeof withDetails }>;

/** The tenant's products that are not deleted (D-14). */
export async function listProducts(
  context: Context,
  filter: ProductFilter,
): Promise<{ products: ProductWithDetails[]; total: number }> {
  const where = matching(context, filter);
  const [products, total] = await Promise.all([
    context.db.product.findMany({ where, include: withDetails, orderBy: orderOf(filter), ...pageSlice(filter) }),
    context.db.product.count({ where }),
  ]);
  return { products, total };
}

function matching(
  context: Context,
  { isActive, search, categoryId, clinicId }: ProductFilter,
): Prisma.ProductWhereInput {
  const { tenantId } = context.caller;
  const needle = searchNeedle(search);
  return {
    tenantId,
    isDeleted: false,
    ...(isActive === undefined ? {} : { isActive }),
    ...(categoryId === undefined ? {} : { categoryId }),
    AND: [
      ...(needle ? [{ OR: [{ nameKey: { contains: needle } }, { skuKey: { contains: needle } }] }] : []),
      ...(clinicId === undefined ? [] : [availableAt(context, clinicId)]),
    ],
  };
}

/** Nothing is available at a clinic that the caller cannot see. */
function availableAt(context: Context, clinicId: string): Prisma.ProductWhereInput {
  const { tenantId } = context.caller;
  if (!mayUseClinic(context, clinicId)) return { id: { in: [] } };
  return {
    tenant: { clinics: { some: { tenantId, id: clinicId } } },
    OR: [{ availability: { none: { tenantId } } }, { availability: { some: { tenantId, clinicId, isActive: true } } }],
  };
}

function orderOf({ sort_by, sort_order }: ProductFilter): Prisma.ProductOrderByWithRelationInput[] {
  const ties: Prisma.ProductOrderByWithRelationInput[] = [{ createdAt: 'desc' }, { id: 'asc' }];
  if (sort_by === 'name') return [{ nameKey: sort_order }, ...ties];
  if (sort_by === 'sku') return [{ skuKey: sort_order }, ...ties];
  if (sort_by === 'updatedAt') return [{ updatedAt: sort_order }, ...ties];
  return [{ createdAt: sort_order }, { id: 'asc' }];
}
