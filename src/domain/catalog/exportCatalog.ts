import { Prisma } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';
import { catalogSchema } from './import/catalogSchema.js';
import { pharmaciesOf } from './storedCatalog.js';

/** Exports a tenant's catalog without deleted products as a catalog file; importing it changes nothing. */
export function exportCatalog({ db }: DomainContext, tenantId: string): Promise<object> {
  const where = { tenantId };
  return db.snapshot(async ({ prisma }) => {
    const clinics = await prisma.clinic.findMany({
      where,
      include: { locations: { where, orderBy: { name: 'asc' } } },
      orderBy: [{ nameKey: 'asc' }, { id: 'asc' }],
    });
    const categories = await prisma.category.findMany({
      where,
      include: { subcategories: { where, orderBy: { subCategoryName: 'asc' } } },
      orderBy: { categoryName: 'asc' },
    });
    const products = await prisma.product.findMany({
      where: { tenantId, isDeleted: false },
      include: {
        category: true,
        subcategory: true,
        rx: true,
        offer: { include: { variants: { where, orderBy: { sku: 'asc' } } } },
        availability: { where, orderBy: { clinicId: 'asc' } },
      },
      orderBy: [{ sku: 'asc' }, { id: 'asc' }],
    });
    const named = products.map(({ category, subcategory, offer, ...product }) => ({
      ...product,
      pharmacy: product.pharmacyName,
      productId: product.externalCode,
      category: category.categoryName,
      subcategory: subcategory.subCategoryName,
      productRx: product.rx,
      productOffer: offer && { ...offer, offerVariants: offer.variants },
      clinicAvailability: product.availability.map((entry) => ({ ...entry, clinic: entry.clinicId })),
    }));
    return inShape(catalogSchema, {
      clinics,
      pharmacies: pharmaciesOf(products),
      categories,
      products: named,
    }) as object;
  });
}

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly [keyword: string]: unknown;
}

function inShape({ properties, items }: Shape, value: unknown): unknown {
  if (Prisma.Decimal.isDecimal(value)) return value.toFixed(2);
  if (Array.isArray(value) && items) return value.map((element) => inShape(items, element));
  if (typeof value !== 'object' || value === null || !properties) return value;
  const members = Object.entries(properties);
  return Object.fromEntries(members.map(([name, shape]) => [name, inShape(shape, Reflect.get(value, name))]));
}
