import type { TransactionContext } from '../transactions/transaction.js';
import type { Kind, Row } from './import/matchRows.js';

export type StoredCatalog = Awaited<ReturnType<typeof loadCatalog>>;

/** Everything that a tenant's catalog holds, deleted products too. No import changes it until the transaction ends. */
export async function loadCatalog({ db }: TransactionContext, tenantId: string) {
  // What only refers to the tenant (FOR KEY SHARE) does not wait.
  await db.of(tenantId).rows`SELECT id FROM tenant WHERE id = ${tenantId} FOR NO KEY UPDATE`;
  const where = { tenantId };
  const locations = { orderBy: { name: 'asc' } } as const;
  const subcategories = { orderBy: { subCategoryName: 'asc' } } as const;
  const offer = { include: { variants: { orderBy: { sku: 'asc' } } } } as const;
  const parts = { rx: true, offer, availability: { orderBy: { clinicId: 'asc' } } } as const;
  return {
    clinics: await db.prisma.clinic.findMany({
      where,
      include: { locations },
      orderBy: [{ nameKey: 'asc' }, { id: 'asc' }],
    }),
    categories: await db.prisma.category.findMany({
      where,
      include: { subcategories },
      orderBy: { categoryName: 'asc' },
    }),
    products: await db.prisma.product.findMany({ where, include: parts, orderBy: [{ sku: 'asc' }, { id: 'asc' }] }),
  };
}

/** The pharmacies that these products name. */
export function pharmaciesOf(products: StoredCatalog['products']): { id: string; name: string }[] {
  const names = new Map(products.map(({ pharmacyId, pharmacyName }) => [pharmacyId, pharmacyName]));
  return [...names].map(([id, name]) => ({ id, name }));
}

/** Clinics are one, whatever the case of their names (unique index on name_key, email_key). */
export function clinicKey({ legalName, email }: { readonly legalName: string; readonly email: string }): string {
  return `${legalName}\n${email}`.toLowerCase();
}

/** A stored catalog as rows of each kind. */
export function storedRows({ clinics, categories, products }: StoredCatalog): Record<Kind, Row[]> {
  const stored = (row: { readonly id: string }, parent: string, key: string): Row => {
    return { id: row.id, parent, key, columns: row };
  };
  const offers = products.flatMap(({ offer }) => offer ?? []);
  return {
    clinic: clinics.map((row) => stored(row, '', clinicKey(row))),
    location: clinics.flatMap(({ locations }) => locations).map((row) => stored(row, row.clinicId, row.name)),
    category: categories.map((row) => stored(row, '', row.categoryName)),
    subcategory: categories
      .flatMap(({ subcategories }) => subcategories)
      .map((row) => stored(row, row.categoryId, row.subCategoryName)),
    pharmacy: pharmaciesOf(products).map((row) => stored(row, '', row.name)),
    // Only its id finds a deleted product again.
    product: products.map((row) => stored(row, '', row.isDeleted ? `deleted ${row.id}` : row.sku)),
    prescription: products.flatMap(({ rx }) => rx ?? []).map((row) => stored(row, row.productId, '')),
    offer: offers.map((row) => stored(row, row.productId, '')),
    variant: offers.flatMap(({ variants }) => variants).map((row) => stored(row, row.productOfferId, row.sku)),
    availability: products
      .flatMap(({ availability }) => availability)
      .map((row) => stored(row, row.productId, row.clinicId)),
  };
}
