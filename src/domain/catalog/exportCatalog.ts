import { Prisma } from '../../../generated/prisma/client.js';
import type { DomainContext } from '../../context.js';
import { groupedBy } from '../transactions/rows.js';
import { inTransaction } from '../transactions/transaction.js';
import { catalogSchema } from './import/catalogSchema.js';
import { loadCatalog, pharmaciesOf, type StoredCatalog } from './storedCatalog.js';

/** Exports a tenant's catalog without deleted products as a catalog file; importing it changes nothing. */
export async function exportCatalog(context: DomainContext, tenantId: string): Promise<unknown> {
  const stored = await inTransaction(context, (transaction) => loadCatalog(transaction, tenantId));
  return inShape(catalogSchema, withFileNames(stored));
}

function withFileNames(stored: StoredCatalog) {
  const category = new Map(stored.category.map(({ id, categoryName }) => [id, categoryName]));
  const subcategory = new Map(stored.subcategory.map(({ id, subCategoryName }) => [id, subCategoryName]));
  const locations = groupedBy(stored.location, ({ clinicId }) => clinicId);
  const subcategories = groupedBy(stored.subcategory, ({ categoryId }) => categoryId);
  const prescription = new Map(stored.prescription.map((row) => [row.productId, row]));
  const offer = new Map(stored.offer.map((row) => [row.productId, row]));
  const variants = groupedBy(stored.variant, ({ productOfferId }) => productOfferId);
  const availability = groupedBy(stored.availability, ({ productId }) => productId);
  const products = stored.product.filter(({ isDeleted }) => !isDeleted);
  return {
    clinics: stored.clinic.map((row) => ({ ...row, locations: locations(row.id) })),
    pharmacies: pharmaciesOf(products),
    categories: stored.category.map((row) => ({ ...row, subcategories: subcategories(row.id) })),
    products: products.map((product) => {
      const offered = offer.get(product.id);
      return {
        ...product,
        pharmacy: product.pharmacyName,
        productId: product.externalCode,
        category: category.get(product.categoryId),
        subcategory: subcategory.get(product.subcategoryId),
        productRx: prescription.get(product.id) ?? null,
        productOffer: offered ? { ...offered, offerVariants: variants(offered.id) } : null,
        clinicAvailability: availability(product.id).map((one) => ({ ...one, clinic: one.clinicId })),
      };
    }),
  };
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
