import { Prisma } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';
import { inTransaction } from '../transactions/transaction.js';
import { catalogSchema } from './import/catalogSchema.js';
import { loadCatalog, pharmaciesOf, type StoredCatalog } from './storedCatalog.js';

/** A tenant's catalog without deleted products as the content of a catalog file, whose import changes nothing. */
export async function exportCatalog(context: DomainContext, tenantId: string): Promise<unknown> {
  const stored = await inTransaction(context, (transaction) => loadCatalog(transaction, tenantId));
  return inShape(catalogSchema, withFileNames(stored));
}

function withFileNames({ clinics, categories, products: all }: StoredCatalog) {
  const category = new Map(categories.map(({ id, categoryName }) => [id, categoryName]));
  const subcategories = categories.flatMap((one) => one.subcategories);
  const subcategory = new Map(subcategories.map(({ id, subCategoryName }) => [id, subCategoryName]));
  const products = all.filter(({ isDeleted }) => !isDeleted);
  return {
    clinics,
    pharmacies: pharmaciesOf(products),
    categories,
    products: products.map(({ rx, offer, availability, ...product }) => ({
      ...product,
      pharmacy: product.pharmacyName,
      productId: product.externalCode,
      category: category.get(product.categoryId),
      subcategory: subcategory.get(product.subcategoryId),
      productRx: rx,
      productOffer: offer && { ...offer, offerVariants: offer.variants },
      clinicAvailability: availability.map((one) => ({ ...one, clinic: one.clinicId })),
    })),
  };
}

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly [keyword: string]: unknown;
}

/** A value with those of its members that its schema has. */
function inShape({ properties, items }: Shape, value: unknown): unknown {
  if (Prisma.Decimal.isDecimal(value)) return value.toFixed(2);
  if (Array.isArray(value) && items) return value.map((element) => inShape(items, element));
  if (typeof value !== 'object' || value === null || !properties) return value;
  const members = Object.entries(properties);
  return Object.fromEntries(members.map(([name, shape]) => [name, inShape(shape, Reflect.get(value, name))]));
}
