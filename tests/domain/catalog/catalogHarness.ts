import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import { openDatabase } from '../../../src/adapters/database/database.js';
import type { DomainContext } from '../../../src/context.js';
import { importCatalog } from '../../../src/domain/catalog/import/importCatalog.js';
import type { CatalogReport, Progress } from '../../../src/domain/catalog/import/importCatalog.js';
import type { JsonFault } from '../../../src/domain/catalog/import/jsonDocument.js';
import { createTenant } from '../../../src/domain/access/tenants.js';
import { createTestDatabase } from '../../support/postgres.js';
import { write } from './catalogSample.js';

/** The counts of one kind of element in a report. */
export function counts(created: number, updated: number, unchanged: number): CatalogReport['products'] {
  return { created, updated, unchanged };
}

/** The report of an import of the sample that changes no row. */
export const unchangedSample = {
  clinics: counts(0, 0, 2),
  pharmacies: counts(0, 0, 1),
  categories: counts(0, 0, 2),
  subcategories: counts(0, 0, 3),
  products: counts(0, 0, 2),
};

/** A database for the tests of one file, and a new tenant for each test. */
export async function openCatalogHarness() {
  let seconds = 0;
  let tenants = 0;
  let tenantId = '';
  const database = await createTestDatabase();
  // Each call moves the clock by a second, so that an unnecessary write changes updatedAt.
  const now = (): Date => new Date(Date.UTC(2026, 10, 20) + 1000 * seconds++);
  const db = openDatabase(database.url);
  const context: DomainContext = { db, now, newId: () => v7(), randomBytes: (size) => randomBytes(size) };
  afterAll(async () => {
    await context.db.close();
    await database.drop();
  });
  const newTenant = async (): Promise<string> =>
    (await createTenant(context, { name: `Tenant ${++tenants}`, mode: 'live' })).id;
  beforeEach(async () => {
    tenantId = await newTenant();
  });

  return {
    /** An empty tenant for the current test. */
    get tenantId() {
      return tenantId;
    },
    newTenant,
    /** Imports a catalog; throws if it has faults. */
    async imported(catalog: unknown, tenant = tenantId, progress: Progress = () => {}): Promise<CatalogReport> {
      const result = await importCatalog(context, tenant, write(catalog), progress);
      if ('faults' in result) throw new Error(`Correct the catalog: ${write(result.faults)}`);
      return result;
    },
    /** The faults of a file; empty if it was imported. */
    async faultsOf(text: string, tenant = tenantId): Promise<readonly JsonFault[]> {
      const result = await importCatalog(context, tenant, text);
      return 'faults' in result ? result.faults : [];
    },
    /** Every row of a tenant's catalog: two results are equal only if no row was written between them. */
    stored: (tenant = tenantId) => storedCatalog(context.db, tenant),
  };
}

/** Clinics by name, categories by name, products by sku, each with all its children. */
export async function storedCatalog(db: DomainContext['db'], tenantId: string) {
  const where = { tenantId };
  const locations = { orderBy: { name: 'asc' } } as const;
  const subcategories = { orderBy: { subCategoryName: 'asc' } } as const;
  const variants = { orderBy: { sku: 'asc' } } as const;
  const include = { rx: true, offer: { include: { variants } }, availability: { orderBy: { id: 'asc' } } } as const;
  const [clinics, categories, products] = await Promise.all([
    db.prisma.clinic.findMany({ where, orderBy: { nameKey: 'asc' }, include: { locations } }),
    db.prisma.category.findMany({ where, orderBy: { categoryName: 'asc' }, include: { subcategories } }),
    db.prisma.product.findMany({ where, orderBy: [{ sku: 'asc' }, { id: 'asc' }], include }),
  ]);
  return { clinics, categories, products };
}
