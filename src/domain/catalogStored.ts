import { canonicalUuid } from './canonicalUuid.js';
import type { Catalog } from './catalog.js';
import type { StoredRow } from './catalogMatch.js';
import type { TransactionContext } from './transactionContext.js';

/** The rows of a tenant that a file may concern. A location's parent is its clinic, a variant's its product. */
export interface StoredCatalog {
  readonly clinics: readonly StoredRow[];
  readonly locations: readonly StoredRow[];
  /** There is no table of pharmacies: they are what the products say. */
  readonly pharmacies: readonly StoredRow[];
  readonly categories: readonly StoredRow[];
  readonly subcategories: readonly StoredRow[];
  /** Products of the file's skus and ids. Deleted ones have no sku as key: only their id finds them again. */
  readonly products: readonly StoredRow[];
  /** Skus of the file that only deleted products have. */
  readonly deletedSkus: ReadonlySet<string>;
  readonly prescriptions: readonly StoredRow[];
  readonly offers: readonly StoredRow[];
  readonly variants: readonly StoredRow[];
  readonly availability: readonly StoredRow[];
}

/** Clinics are one, whatever the case of their names (unique index on name_key, email_key). */
export function clinicKey({ legalName, email }: { readonly legalName: string; readonly email: string }): string {
  return JSON.stringify([legalName.toLowerCase(), email.toLowerCase()]);
}

/** Products asked for at once: far below the 32 767 parameters that a statement can have. */
const BATCH = 1_000;

/** Reads in a handful of queries, one more for each 1 000 products. */
export async function loadStored(
  context: TransactionContext,
  tenantId: string,
  catalog: Catalog,
): Promise<StoredCatalog> {
  const { db } = context;
  const clinics = await db.clinic.findMany({ where: { tenantId }, include: { locations: true } });
  const categories = await db.category.findMany({ where: { tenantId }, include: { subcategories: true } });
  const pharmacies = await db.product.groupBy({ by: ['pharmacyId', 'pharmacyName'], where: { tenantId } });
  const products = await loadProducts(context, tenantId, catalog);
  const keep = (id: string, parent: string, key: string, row: object): StoredRow => ({ id, parent, key, row });
  return {
    clinics: clinics.map((row) => keep(row.id, '', clinicKey(row), row)),
    locations: clinics.flatMap(({ locations }) => locations.map((row) => keep(row.id, row.clinicId, row.name, row))),
    pharmacies: pharmacies.map((row) => keep(row.pharmacyId, '', row.pharmacyName, { name: row.pharmacyName })),
    categories: categories.map((row) => keep(row.id, '', row.categoryName, row)),
    subcategories: categories.flatMap(({ subcategories }) =>
      subcategories.map((row) => keep(row.id, row.categoryId, row.subCategoryName, row)),
    ),
    products: products.map((row) => keep(row.id, '', row.isDeleted ? `deleted ${row.id}` : row.sku, row)),
    deletedSkus: new Set(products.filter(({ isDeleted }) => isDeleted).map(({ sku }) => sku)),
    prescriptions: products.flatMap(({ id, rx }) => (rx ? [keep(rx.id, id, '', rx)] : [])),
    offers: products.flatMap(({ id, offer }) => (offer ? [keep(offer.id, id, '', offer)] : [])),
    variants: products.flatMap(({ id, offer }) => (offer?.variants ?? []).map((row) => keep(row.id, id, row.sku, row))),
    availability: products.flatMap(({ id, availability }) =>
      availability.map((row) => keep(row.id, id, row.clinicId, row)),
    ),
  };
}

async function loadProducts({ db }: TransactionContext, tenantId: string, { products }: Catalog) {
  const include = { rx: true, offer: { include: { variants: true } }, availability: true };
  const load = async (from: number) => {
    const part = products.slice(from, from + BATCH);
    const anyOf = [{ sku: { in: part.map(({ sku }) => sku) } }, { id: { in: idsOf({ products: part }) } }];
    return db.product.findMany({ where: { tenantId, OR: anyOf }, include });
  };
  const found = new Map<string, Awaited<ReturnType<typeof load>>[number]>();
  for (let from = 0; from < products.length; from += BATCH) {
    for (const product of await load(from)) found.set(product.id, product);
  }
  return [...found.values()];
}

function idsOf({ products }: Pick<Catalog, 'products'>): string[] {
  return products.flatMap(({ id }) => (id === undefined ? [] : [canonicalUuid(id)]));
}
