import {
  Prisma,
  type Category,
  type Clinic,
  type ClinicAvailability,
  type OfferVariant,
  type Product,
  type ProductOffer,
  type ProductRx,
  type Subcategory,
} from '../../../generated/prisma/client.js';
import type { Context } from '../../context.js';
import type { Input } from '../../contract.js';
import { Problem } from '../../problem.js';
import { readPage } from './catalogPage.js';
import { mayUseClinic } from '../access/limits.js';
import { forTenant, jsonOf, type JsonOf } from '../transactions/bulkSql.js';
import { canonicalUuid } from '../transactions/uuid.js';

export type ProductFilter = Input<'listProducts'>['query'];

/** A product that a view can show: an element of the list, or one that was read by its id. */
export type ShownProduct = ListedProduct | Awaited<ReturnType<typeof getProduct>>;

interface ListedProduct extends JsonOf<Product> {
  readonly category: JsonOf<Category>;
  readonly subcategory: JsonOf<Subcategory>;
  readonly rx: JsonOf<ProductRx> | null;
  readonly offer: (JsonOf<ProductOffer> & { readonly variants: readonly JsonOf<OfferVariant>[] }) | null;
  /** The first {@link MAX_ENTRIES} entries. */
  readonly availability: readonly (JsonOf<ClinicAvailability> & { readonly clinic: JsonOf<Clinic> })[];
  /** The number of all entries, including those not listed. */
  readonly availabilityTotal: number;
}

/** Maximum of availability entries per product in a page (R-172). */
const MAX_ENTRIES = 50;

const element = forTenant((tenantId) =>
  jsonOf('Product', 'shown', {
    category: Prisma.sql`(SELECT ${jsonOf('Category', 'c')} FROM category AS c
    WHERE c.tenant_id = ${tenantId} AND c.id = shown.category_id)`,
    subcategory: Prisma.sql`(SELECT ${jsonOf('Subcategory', 's')} FROM subcategory AS s
    WHERE s.tenant_id = ${tenantId} AND s.id = shown.subcategory_id)`,
    rx: Prisma.sql`(SELECT ${jsonOf('ProductRx', 'rx')} FROM product_rx AS rx
    WHERE rx.tenant_id = ${tenantId} AND rx.product_id = shown.id)`,
    offer: Prisma.sql`(SELECT ${jsonOf('ProductOffer', 'o', {
      variants: Prisma.sql`(SELECT coalesce(json_agg(${jsonOf('OfferVariant', 'v')} ORDER BY v.id), '[]')
      FROM offer_variant AS v WHERE v.tenant_id = ${tenantId} AND v.product_offer_id = o.id)`,
    })} FROM product_offer AS o WHERE o.tenant_id = ${tenantId} AND o.product_id = shown.id)`,
    availability: Prisma.sql`(SELECT coalesce(json_agg(${jsonOf('ClinicAvailability', 'a', {
      clinic: jsonOf('Clinic', 'k'),
    })} ORDER BY a.place, a.id), '[]')
    FROM (
      SELECT entry.*, place FROM clinic_availability AS entry
      CROSS JOIN asked LEFT JOIN unnest(asked.first) WITH ORDINALITY AS own (id, place) ON own.id = entry.clinic_id
      WHERE entry.tenant_id = ${tenantId} AND entry.product_id = shown.id
      ORDER BY place, entry.id LIMIT ${Prisma.raw(String(MAX_ENTRIES))}
    ) AS a JOIN clinic AS k ON k.tenant_id = ${tenantId} AND k.id = a.clinic_id)`,
    availabilityTotal: Prisma.sql`(SELECT count(*) FROM clinic_availability AS a
    WHERE a.tenant_id = ${tenantId} AND a.product_id = shown.id)`,
  }),
);

/**
 * A product with its availability at all clinics. Finds deleted products, too, because encounters and orders name them.
 * @throws Problem treatment_not_found
 */
export async function getProduct({ db, caller: { tenantId } }: Context, id: string) {
  const product = await db.prisma.product.findUnique({
    where: { tenantId_id: { tenantId, id } },
    include: {
      category: true,
      subcategory: true,
      rx: true,
      offer: { include: { variants: { orderBy: { id: 'asc' } } } },
      availability: { include: { clinic: true }, orderBy: { id: 'asc' } },
    },
  });
  if (!product) throw new Problem('treatment_not_found');
  return { ...product, availabilityTotal: product.availability.length };
}

/** The tenant's products without deleted ones (R-26). */
export async function listProducts(context: Context, filter: ProductFilter) {
  const { categoryId, clinicId } = filter;
  return readPage<ListedProduct>(
    context,
    {
      table: 'product',
      element: element(context.caller.tenantId),
      first: clinicsShownFirst(context, filter),
      conditions: [
        Prisma.sql`NOT listed.is_deleted`,
        ...(categoryId === undefined ? [] : [Prisma.sql`listed.category_id = ${categoryId}::uuid`]),
        ...(clinicId === undefined ? [] : [availableAt(context, clinicId)]),
      ],
      searched: ['name_key', 'sku_key'],
      isCounted: true,
      more: Prisma.empty,
    },
    filter,
  );
}

/** The clinics whose entries come first: that of the filter, then those to which the client is limited. */
function clinicsShownFirst({ caller }: Context, { clinicId }: ProductFilter): string[] {
  const named = clinicId === undefined ? [] : [canonicalUuid(clinicId)];
  return [...new Set([...named, ...(caller.allowedClinicIds ?? [])])];
}

/** SQL condition: whether a product is available at the clinic (R-25); false if the caller may not see the clinic. */
function availableAt(context: Context, clinicId: string): Prisma.Sql {
  const { tenantId } = context.caller;
  if (!mayUseClinic(context, clinicId)) return Prisma.sql`false`;
  const ofProduct = Prisma.sql`SELECT FROM clinic_availability AS place
    WHERE place.tenant_id = ${tenantId} AND place.product_id = listed.id`;
  return Prisma.sql`EXISTS (SELECT FROM clinic WHERE tenant_id = ${tenantId} AND clinic.id = ${clinicId}::uuid)
    AND (NOT EXISTS (${ofProduct}) OR EXISTS (${ofProduct} AND place.clinic_id = ${clinicId}::uuid AND place.is_active))`;
}
