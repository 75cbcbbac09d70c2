import type { TransactionContext } from '../transactions/transaction.js';
import type { Kind, Row } from './import/matchRows.js';

export type StoredCatalog = Awaited<ReturnType<typeof loadCatalog>>;

/** A tenant's catalog with deleted products. Locks out other imports until the transaction ends. */
export async function loadCatalog({ db }: TransactionContext, tenantId: string) {
  // Inserts with a foreign key to the tenant (FOR KEY SHARE) do not wait for this lock.
  await db.$queryRaw`SELECT id FROM tenant WHERE id = ${tenantId} FOR NO KEY UPDATE`;
  const where = { tenantId };
  const locations = { orderBy: { name: 'asc' } } as const;
  const subcategories = { orderBy: { subCategoryName: 'asc' } } as const;
  const offer = { include: { variants: { orderBy: { sku: 'asc' } } } } as const;
  const parts = { rx: true, offer, availability: { orderBy: { clinicId: 'asc' } } } as const;
  return {
    clinics: await db.clinic.findMany({ where, include: { locations }, orderBy: [{ nameKey: 'asc' }, { id: 'asc' }] }),
    categories: await db.category.findMany({ where, include: { subcategories }, orderBy: { categoryName: 'asc' } }),
    products: await db.product.findMany({ where, include: parts, orderBy: [{ sku: 'asc' }, { id: 'asc' }] }),
  };
}

/** The pharmacies of products. */
export function pharmaciesOf(products: StoredCatalog['products']): { id: string; name: string }[] {
  const names = new Map(products.map(({ pharmacyId, pharmacyName }) => [pharmacyId, pharmacyName]));
  return [...names].map(([id, name]) => ({ id, name }));
}

/** Identifies a clinic, ignoring case (unique index on name_key, email_key). */
export function clinicKey({ legalName, email }: { readonly legalName: string; readonly email: string }): string {
  return `${legalName}\n${email}`.toLowerCase();
}

/** The key of a deleted product. No sku of a file has a line break, so only an id restores the product. */
export const deletedKey = (sku: string): string => `\n${sku}`;

/** The rows of a stored catalog by kind. */
export function storedRows({ clinics, categories, products }: StoredCatalog): Record<Kind, Row[]> {
  const stored = (row: { readonly id: string }, parent: string, key: string): Row => {
    return { id: row.id, parent, key, columns: row };
  };
  const locations = clinics.flatMap((clinic) => clinic.locations);
  const subcategories = categories.flatMap((category) => category.subcategories);
  const offers = products.flatMap(({ offer }) => offer ?? []);
  const variants = offers.flatMap((offer) => offer.variants);
  const availability = products.flatMap((product) => product.availability);
  return {
    clinic: clinics.map((row) => stored(row, '', clinicKey(row))),
    location: locations.map((row) => stored(row, row.clinicId, row.name)),
    category: categories.map((row) => stored(row, '', row.categoryName)),
    subcategory: subcategories.map((row) => stored(row, row.categoryId, row.subCategoryName)),
    pharmacy: pharmaciesOf(products).map((row) => stored(row, '', row.name)),
    product: products.map((row) => stored(row, '', row.isDeleted ? deletedKey(row.sku) : row.sku)),
    prescription: products.flatMap(({ rx }) => rx ?? []).map((row) => stored(row, row.productId, '')),
    offer: offers.map((row) => stored(row, row.productId, '')),
    variant: variants.map((row) => stored(row, row.productOfferId, row.sku)),
    availability: availability.map((row) => stored(row, row.productId, row.clinicId)),
  };
}
