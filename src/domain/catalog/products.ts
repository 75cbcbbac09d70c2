import { Prisma } from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import { readIds, type CatalogFilter } from './catalogPage.js';
import { mayUseClinic } from './clinics.js';
import { inOrder } from '../values/paging.js';

export interface ProductFilter extends CatalogFilter {
  readonly categoryId?: string;
  /** Only products that may be chosen at this clinic (D-38). */
  readonly clinicId?: string;
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
  const { tenantId } = context.caller;
  const { categoryId, clinicId } = filter;
  const { ids, total } = await readIds(
    context,
    {
      table: 'product',
      listed: Prisma.sql`listed.tenant_id = ${tenantId} AND NOT listed.is_deleted`,
      counts: Prisma.sql`
        SELECT active_products AS active, inactive_products AS inactive FROM tenant WHERE id = ${tenantId}`,
      conditions: [
        ...(categoryId === undefined ? [] : [Prisma.sql`listed.category_id = ${categoryId}::uuid`]),
        ...(clinicId === undefined ? [] : [availableAt(context, clinicId)]),
      ],
      searched: ['name_key', 'sku_key'],
    },
    filter,
  );
  const where = { tenantId, id: { in: ids } };
  const rows = ids.length > 0 ? await context.db.product.findMany({ where, include: withDetails }) : [];
  return { products: inOrder(ids, rows), total };
}

/** Nothing is available at a clinic that the caller cannot see. */
function availableAt(context: Context, clinicId: string): Prisma.Sql {
  const { tenantId } = context.caller;
  if (!mayUseClinic(context, clinicId)) return Prisma.sql`false`;
  const ofProduct = Prisma.sql`SELECT FROM clinic_availability AS place
    WHERE place.tenant_id = ${tenantId} AND place.product_id = listed.id`;
  return Prisma.sql`EXISTS (SELECT FROM clinic WHERE tenant_id = ${tenantId} AND clinic.id = ${clinicId}::uuid)
    AND (NOT EXISTS (${ofProduct}) OR EXISTS (${ofProduct} AND place.clinic_id = ${clinicId}::uuid AND place.is_active))`;
}
