import { Prisma, type Product } from '../../../generated/prisma/client.js';
import { findRows } from '../transactions/rows.js';
import type { TransactionContext } from '../transactions/transaction.js';
import type { Kind, Row } from './import/matchRows.js';

export type StoredCatalog = Awaited<ReturnType<typeof loadCatalog>>;

/** The rows of a catalog by kind, including deleted products. Blocks other imports until the transaction ends. */
export async function loadCatalog({ db }: TransactionContext, tenantId: string) {
  // Inserts with a foreign key to the tenant (FOR KEY SHARE) do not wait for this lock.
  await db.of(tenantId).run`SELECT FROM tenant WHERE id = ${tenantId} FOR NO KEY UPDATE`;
  const rowsOf = <Model extends Prisma.ModelName>(model: Model, order: string) =>
    findRows(db, tenantId, model, Prisma.sql`true ORDER BY ${Prisma.raw(order)}`);
  return {
    clinic: await rowsOf('Clinic', 'name_key, id'),
    location: await rowsOf('ClinicLocation', 'name'),
    category: await rowsOf('Category', 'category_name'),
    subcategory: await rowsOf('Subcategory', 'sub_category_name'),
    product: await rowsOf('Product', 'sku, id'),
    prescription: await rowsOf('ProductRx', 'product_id'),
    offer: await rowsOf('ProductOffer', 'product_id'),
    variant: await rowsOf('OfferVariant', 'sku'),
    availability: await rowsOf('ClinicAvailability', 'clinic_id'),
  };
}

function pharmaciesOf(products: readonly Product[]): { id: string; name: string }[] {
  const names = new Map(products.map(({ pharmacyId, pharmacyName }) => [pharmacyId, pharmacyName]));
  return [...names].map(([id, name]) => ({ id, name }));
}

/** The key of a clinic, ignoring case (unique index on name_key, email_key). */
export function clinicKey({ legalName, email }: { readonly legalName: string; readonly email: string }): string {
  return `${legalName}\n${email}`.toLowerCase();
}

export function storedRows(catalog: StoredCatalog): Record<Kind, Row[]> {
  const stored = (row: { readonly id: string }, parent: string, key: string): Row => {
    return { id: row.id, parent, key, columns: row };
  };
  return {
    clinic: catalog.clinic.map((row) => stored(row, '', clinicKey(row))),
    location: catalog.location.map((row) => stored(row, row.clinicId, row.name)),
    category: catalog.category.map((row) => stored(row, '', row.categoryName)),
    subcategory: catalog.subcategory.map((row) => stored(row, row.categoryId, row.subCategoryName)),
    pharmacy: pharmaciesOf(catalog.product).map((row) => stored(row, '', row.name)),
    product: catalog.product.map((row) => stored(row, '', row.sku)),
    prescription: catalog.prescription.map((row) => stored(row, row.productId, '')),
    offer: catalog.offer.map((row) => stored(row, row.productId, '')),
    variant: catalog.variant.map((row) => stored(row, row.productOfferId, row.sku)),
    availability: catalog.availability.map((row) => stored(row, row.productId, row.clinicId)),
  };
}
