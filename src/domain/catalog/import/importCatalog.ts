import { Prisma } from '../../../../generated/prisma/client.js';
import type { DomainContext } from '../../../context.js';
import { columnsOf, fromExcluded, identifier, insertion } from '../../transactions/bulkSql.js';
import { updateRows } from '../../transactions/rows.js';
import { inTransaction, type TransactionContext } from '../../transactions/transaction.js';
import { loadCatalog, storedRows } from '../storedCatalog.js';
import type { Catalog } from './catalogSchema.js';
import type { JsonFault } from './jsonDocument.js';
import { tables, type Change, type Planning } from './matchRows.js';
import { planCatalog, type CatalogPlan } from './planCatalog.js';
import { inFileOrder, readCatalog, type Faults, type FaultyFile, type ValidFile } from './readCatalog.js';

const reported = {
  clinics: 'clinic',
  pharmacies: 'pharmacy',
  categories: 'category',
  subcategories: 'subcategory',
  products: 'product',
} as const;

type Counts = Readonly<Record<'created' | 'updated' | 'unchanged', number>>;
export type CatalogReport = Readonly<Record<keyof typeof reported, Counts>>;

/** Called with the number of rows written or deleted so far, and of all such rows. */
export type Progress = (written: number, total: number) => void;

/** Rows per statement: enough to save round trips, few enough to show progress. */
const BATCH = 1_000;

/**
 * Creates or updates the elements of a file, and deletes the parts of its clinics and products that it omits, and no
 * other rows. With faults, nothing is written.
 */
export async function importCatalog(
  context: DomainContext,
  tenantId: string,
  text: string,
  progress?: Progress,
): Promise<CatalogReport | Faults> {
  const file = readCatalog(text);
  return inTransaction(context, (transaction) => writeCatalog(transaction, tenantId, file, progress));
}

/** The changes that the import of a file makes to the stored catalog, or the faults of the file. */
export function decideImport(
  file: ValidFile<Catalog> | FaultyFile,
  stored: Planning['stored'],
  newId: () => string,
): CatalogPlan | Faults {
  if ('faults' in file) {
    const others = withoutFaultyProducts(file);
    if (others === undefined) return { faults: file.faults };
    const result = decideImport(others, stored, newId);
    // Drop faults of pharmacies: one that seems unused may belong to a faulty product.
    const more = 'faults' in result ? result.faults.filter(({ pointer }) => !pointer.startsWith('/pharmacies/')) : [];
    const named = more.map((fault) => ({ ...fault, message: others.original(fault.message) }));
    return { faults: inFileOrder([...file.faults, ...named]) };
  }
  const faults: JsonFault[] = [];
  const fault = (pointer: string, message: string) => faults.push({ ...file.document.placeOf(pointer), message });
  const plan = planCatalog({ stored, newId, fault }, file.value);
  return faults.length > 0 ? { faults: inFileOrder(faults) } : plan;
}

/** A file without its faulty products, to find the faults of the others; undefined if a fault lies elsewhere. */
function withoutFaultyProducts({ faults, document }: FaultyFile) {
  const faulty = new Set(faults.map(({ pointer }) => /^\/products\/(\d+)/.exec(pointer)?.[1]));
  if (!document || faulty.has(undefined)) return undefined;
  const catalog = document.value as Catalog;
  const places = [...catalog.products.keys()].filter((index) => !faulty.has(String(index)));
  /** The text with its pointer to a product changed to that of the whole file. */
  const original = (text: string): string =>
    text.replace(/(?<=^| )\/products\/(\d+)/, (_, index: string) => `/products/${places[Number(index)]}`);
  return {
    value: { ...catalog, products: catalog.products.filter((_, index) => places.includes(index)) },
    document: { ...document, placeOf: (pointer, at) => document.placeOf(original(pointer), at) },
    original,
  } satisfies ValidFile<Catalog> & { readonly original: unknown };
}

/** The part of {@link importCatalog} that runs in its transaction. */
export async function writeCatalog(
  context: TransactionContext,
  tenantId: string,
  file: ValidFile<Catalog> | FaultyFile,
  progress: Progress = () => {},
): Promise<CatalogReport | Faults> {
  const stored = storedRows(await loadCatalog(context, tenantId));
  const plan = decideImport(file, stored, () => context.newId());
  if ('faults' in plan) return plan;
  await writePlan(context, tenantId, plan, progress);
  const counts = Object.entries(reported).map(([name, kind]) => [name, countsOf(plan[kind])]);
  return Object.fromEntries(counts) as CatalogReport;
}

function countsOf(changes: readonly Change[]): Counts {
  const countOf = (wanted: keyof Counts) => changes.filter(({ state }) => state === wanted).length;
  return { created: countOf('created'), updated: countOf('updated'), unchanged: countOf('unchanged') };
}

/** Writes each table in a few statements: deletions first, children before parents; then rows, parents first. */
async function writePlan({ db, now }: TransactionContext, tenantId: string, plan: CatalogPlan, progress: Progress) {
  const at = now();
  const times = { createdAt: at, updatedAt: at };
  for (const { id, key } of plan.pharmacy.filter(({ state }) => state === 'updated')) {
    // Rename the pharmacy in all products, including those that the file omits.
    const data = { pharmacyName: key, updatedAt: at };
    await updateRows(db, tenantId, 'Product', data, Prisma.sql`pharmacy_id = ${id}::uuid`);
  }
  const deletions = tables.toReversed().flatMap(({ kind, table }) => {
    const ids = plan[kind].filter(({ state }) => state === 'deleted').map(({ id }) => id);
    return batches(ids, (part) => deletion(table, part, tenantId));
  });
  const upserts = tables.flatMap(({ kind, table }) => {
    const written = plan[kind].filter(({ state }) => state === 'created' || state === 'updated');
    const rows: object[] = written.map(({ id, columns }) => ({ id, tenantId, ...columns, ...times }));
    return batches(rows, (part) => upsert(table, part));
  });
  const statements = [...deletions, ...upserts];
  const total = statements.reduce((sum, { size }) => sum + size, 0);
  let written = 0;
  for (const { size, sql } of statements) {
    await db.everyTenant.run(sql);
    progress((written += size), total);
  }
}

function batches<Item>(items: readonly Item[], statement: (part: readonly Item[]) => Prisma.Sql) {
  return Array.from({ length: Math.ceil(items.length / BATCH) }, (_, index) => {
    const part = items.slice(index * BATCH, (index + 1) * BATCH);
    return { size: part.length, sql: statement(part) };
  });
}

function upsert(table: string, rows: readonly object[]): Prisma.Sql {
  const kept = ['id', 'tenant_id', 'created_at'];
  const updated = columnsOf(rows).filter((column) => !kept.includes(column));
  return Prisma.sql`${insertion(table, rows)} ON CONFLICT (tenant_id, id) DO UPDATE SET ${fromExcluded(updated)}`;
}

function deletion(table: string, ids: readonly string[], tenantId: string): Prisma.Sql {
  return Prisma.sql`DELETE FROM ${identifier(table)} WHERE tenant_id = ${tenantId} AND id = ANY(${[...ids]}::uuid[])`;
}
