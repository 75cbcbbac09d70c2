import { Prisma } from '../../../../generated/prisma/client.js';
import type { DomainContext } from '../../../context.js';
import { columnsOf, identifier, insertion } from '../../transactions/bulkSql.js';
import { inTransaction, type TransactionContext } from '../../transactions/transaction.js';
import { loadCatalog } from '../storedCatalog.js';
import type { Catalog } from './catalogSchema.js';
import type { JsonFault, JsonPlace } from './jsonDocument.js';
import { tables, type Change } from './matchRows.js';
import { planCatalog, type CatalogPlan } from './planCatalog.js';
import { inFileOrder, readCatalog, type Faults, type ValidFile } from './readCatalog.js';

/** How many elements of one kind an import found in which state. */
type Counts = Readonly<Record<Change['state'], number>>;
export type CatalogReport = Readonly<
  Record<'clinics' | 'pharmacies' | 'categories' | 'subcategories' | 'products', Counts>
>;

type CatalogResult = { readonly report: CatalogReport } | Faults;

/** What an import would do to an element of the file. */
export type PlannedChange = JsonPlace & Pick<Change, 'state'>;
export type CatalogPreview = { readonly report: CatalogReport; readonly changes: readonly PlannedChange[] } | Faults;

/** Called with the number of rows written so far and the number of rows to write. */
export type Progress = (written: number, total: number) => void;

/** Rows in one statement: large enough to save round trips, small enough for a progress bar to move. */
const BATCH = 1_000;

/**
 * Imports a catalog file into a tenant: what the file names is as the file says afterwards, what it does not name
 * stays. A second import of the same file changes nothing. All or nothing.
 * @returns the counts, or every fault that was found; with faults nothing was written
 */
export async function importCatalog(
  context: DomainContext,
  tenantId: string,
  text: string,
  progress?: Progress,
): Promise<CatalogResult> {
  const file = readCatalog(text);
  if ('faults' in file) return file;
  return inTransaction(context, (transaction) => writeCatalog(transaction, tenantId, file, progress));
}

/**
 * What {@link importCatalog} would do. Writes nothing.
 * @returns the counts and the elements that would change, those whose parts would change too; or every fault
 */
export async function previewImport(context: DomainContext, tenantId: string, text: string): Promise<CatalogPreview> {
  const file = readCatalog(text);
  if ('faults' in file) return file;
  const plan = await inTransaction(context, (transaction) => planImport(transaction, tenantId, file));
  if ('faults' in plan) return plan;
  const { clinic, pharmacy, category, subcategory, product } = plan;
  const changes = [clinic, pharmacy, category, subcategory, product]
    .flat()
    .filter(({ state }) => state !== 'unchanged');
  const placed = changes.map(({ pointer, state }) => ({ ...file.document.placeOf(pointer), state }));
  return { report: reportOf(plan), changes: inFileOrder(placed) };
}

/** The part of {@link importCatalog} that needs the database; with faults it has written nothing. */
export async function writeCatalog(
  context: TransactionContext,
  tenantId: string,
  file: ValidFile<Catalog>,
  progress: Progress = () => {},
): Promise<CatalogResult> {
  const plan = await planImport(context, tenantId, file);
  if ('faults' in plan) return plan;
  await writePlan(context, tenantId, plan, progress);
  return { report: reportOf(plan) };
}

async function planImport(
  context: TransactionContext,
  tenantId: string,
  { value: catalog, document }: ValidFile<Catalog>,
): Promise<CatalogPlan | Faults> {
  const faults: JsonFault[] = [];
  const fault = (pointer: string, message: string) => faults.push({ ...document.placeOf(pointer), message });
  const newId = () => context.newId();
  const plan = planCatalog({ newId, fault }, catalog, await loadCatalog(context, tenantId));
  return faults.length > 0 ? { faults: inFileOrder(faults) } : plan;
}

function reportOf({ clinic, pharmacy, category, subcategory, product }: CatalogPlan): CatalogReport {
  const counts = (changes: readonly Change[]): Counts => {
    const found = { created: 0, updated: 0, deleted: 0, unchanged: 0 };
    for (const { state } of changes) found[state] += 1;
    return found;
  };
  return {
    clinics: counts(clinic),
    pharmacies: counts(pharmacy),
    categories: counts(category),
    subcategories: counts(subcategory),
    products: counts(product),
  };
}

/** What a plan does to each table, in the order in which they refer to each other. */
function tableChanges(plan: CatalogPlan, tenantId: string, now: Date) {
  const times = { createdAt: now, updatedAt: now };
  return tables.map(({ kind, table }) => {
    const written = plan[kind].filter(({ state }) => state === 'created' || state === 'updated');
    const rows: object[] = written.map(({ id, columns }) => ({ id, tenantId, ...columns, ...times }));
    const deletes = plan[kind].filter(({ state }) => state === 'deleted').map(({ id }) => id);
    return { table, rows, deletes };
  });
}

/** Each table in a few statements, however many rows it has. What refers to others is deleted before them. */
async function writePlan({ db, now }: TransactionContext, tenantId: string, plan: CatalogPlan, progress: Progress) {
  const at = now();
  for (const { id, key } of plan.pharmacy.filter(({ state }) => state === 'updated')) {
    // Also in the products that the file does not name, deleted ones too: a pharmacy has one name.
    const data = { pharmacyName: key, updatedAt: at };
    await db.prisma.product.updateMany({ where: { tenantId, pharmacyId: id }, data });
  }
  const changes = tableChanges(plan, tenantId, at);
  const statements = [
    ...changes
      .toReversed()
      .flatMap(({ table, deletes }) => batches(deletes, (ids) => deletion(table, ids, tenantId, at))),
    ...changes.flatMap(({ table, rows }) => batches(rows, (part) => upsert(table, part))),
  ];
  const total = statements.reduce((sum, { size }) => sum + size, 0);
  let written = 0;
  for (const { size, sql } of statements) {
    await db.$executeRaw(sql);
    progress((written += size), total);
  }
}

function batches<Item>(items: readonly Item[], statement: (part: readonly Item[]) => Prisma.Sql) {
  return Array.from({ length: Math.ceil(items.length / BATCH) }, (_, index) => {
    const part = items.slice(index * BATCH, (index + 1) * BATCH);
    return { size: part.length, sql: statement(part) };
  });
}

/** Rows are written one after the other in their order, each under the constraints of its table. */
function upsert(table: string, rows: readonly object[]): Prisma.Sql {
  const kept = ['id', 'tenant_id', 'created_at'];
  const updated = columnsOf(rows).filter((column) => !kept.includes(column));
  const assignments = updated.map(identifier).map((column) => Prisma.sql`${column} = excluded.${column}`);
  return Prisma.sql`${insertion(table, rows)} ON CONFLICT (tenant_id, id) DO UPDATE SET ${Prisma.join(assignments)}`;
}

/** Encounters refer to products, so those are only marked. */
function deletion(table: string, ids: readonly string[], tenantId: string, now: Date): Prisma.Sql {
  const where = Prisma.sql`WHERE tenant_id = ${tenantId} AND id = ANY(${[...ids]}::uuid[])`;
  return table === 'product'
    ? Prisma.sql`UPDATE product SET is_deleted = true, updated_at = ${now} ${where}`
    : Prisma.sql`DELETE FROM ${identifier(table)} ${where}`;
}
