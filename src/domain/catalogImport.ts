import { Prisma } from '../../generated/prisma/client.js';
import type { DomainContext } from '../context.js';
import type { Draft } from './catalogDraft.js';
import { readCatalog, type CatalogFile } from './catalogFile.js';
import { planCatalog, type CatalogReport, type RenamedPharmacy } from './catalogPlan.js';
import { loadStored } from './catalogStored.js';
import { rowsOf, writeChanges } from './catalogWrite.js';
import type { JsonFault } from './jsonDocument.js';
import { inTransaction, type TransactionContext } from './transactionContext.js';

export type CatalogResult = { readonly report: CatalogReport } | { readonly faults: readonly JsonFault[] };

/** Called with the number of rows written so far and the number of rows to write. */
export type Progress = (written: number, total: number) => void;

/** An import works for seconds; a table lock of somebody else's may make it wait. */
const TIMEOUT_MS = 600_000;

/**
 * Imports a catalog file into a tenant (domain rule "API-client provisioning"): what the file names is as the file says
 * afterwards, what it does not name stays. A second import of the same file changes nothing. All or nothing.
 * @returns the counts, or every fault that was found; with faults nothing was written
 */
export async function importCatalog(
  context: DomainContext,
  tenantId: string,
  text: string,
  progress: Progress = () => {},
): Promise<CatalogResult> {
  const file = readCatalog(text);
  if ('faults' in file) return file;
  return inTransaction(context, (transaction) => writeCatalog(transaction, tenantId, file, progress), TIMEOUT_MS);
}

/** The part of {@link importCatalog} that needs the database; with faults it has written nothing. */
export async function writeCatalog(
  context: TransactionContext,
  tenantId: string,
  { catalog, document }: CatalogFile,
  progress: Progress = () => {},
): Promise<CatalogResult> {
  // One import at a time in a tenant; whoever only refers to the tenant (FOR KEY SHARE) does not wait.
  await context.db.$queryRaw`SELECT id FROM tenant WHERE id = ${tenantId} FOR NO KEY UPDATE`;
  const faults: JsonFault[] = [];
  const fault = (pointer: string, message: string): void => {
    faults.push(document.fault(pointer, message));
  };
  const draft: Draft = { tenantId, now: context.now(), newId: () => context.newId(), fault, changes: [], fixedIds: [] };
  const { report, renamedPharmacies } = planCatalog(draft, catalog, await loadStored(context, tenantId, catalog));
  await refuseTakenIds(context, draft);
  if (faults.length > 0) return { faults: faults.sort((a, b) => a.line - b.line || a.column - b.column) };
  let written = 0;
  const total = rowsOf(draft.changes);
  await renamePharmacies(context, tenantId, renamedPharmacies);
  await writeChanges(context, tenantId, draft.changes, (rows) => progress((written += rows), total));
  return { report };
}

/** An id of a new row may be in use where the plan does not look: deeper in the tenant's catalog. */
async function refuseTakenIds({ db }: TransactionContext, { fixedIds, tenantId, fault }: Draft): Promise<void> {
  for (const table of new Set(fixedIds.map((fixed) => fixed.table))) {
    const fixed = fixedIds.filter((one) => one.table === table);
    const taken = await db.$queryRaw<{ id: string }[]>`SELECT id FROM ${Prisma.raw(`"${table}"`)}
      WHERE tenant_id = ${tenantId} AND id = ANY(${fixed.map(({ id }) => id)}::uuid[])`;
    const ids = new Set(taken.map(({ id }) => id));
    for (const { id, pointer } of fixed) if (ids.has(id)) fault(pointer, 'is in use elsewhere in this catalog');
  }
}

/** Also in the products that the file does not name, deleted ones too: a pharmacy has one name. */
async function renamePharmacies(context: TransactionContext, tenantId: string, renamed: readonly RenamedPharmacy[]) {
  for (const { id: pharmacyId, name: pharmacyName } of renamed) {
    await context.db.product.updateMany({
      where: { tenantId, pharmacyId },
      data: { pharmacyName, updatedAt: context.now() },
    });
  }
}
