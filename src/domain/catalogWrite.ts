import { Prisma } from '../../generated/prisma/client.js';
import type { CatalogTable, TableChange } from './catalogDraft.js';
import { columnsOf, identifier, insertion, recordset } from './rowSets.js';
import type { TransactionContext } from './transactionContext.js';

/** Rows in one statement: large enough to spare round trips, small enough for a progress bar to move. */
const BATCH = 1_000;

/** How many rows the changes write. */
export function rowsOf(changes: readonly TableChange[]): number {
  return changes.reduce(
    (sum, { creates, updates, deletes }) => sum + creates.length + updates.length + deletes.length,
    0,
  );
}

/**
 * Writes the changes, each table in a few statements however many rows it has. Deletions come first, and the last
 * table's before the first one's, so that nothing that is referred to goes before what refers to it.
 * @param written called with the number of rows of each batch
 */
export async function writeChanges(
  context: TransactionContext,
  tenantId: string,
  changes: readonly TableChange[],
  written: (rows: number) => void,
): Promise<void> {
  const { db } = context;
  const inBatches = async <Item>(items: readonly Item[], statement: (part: readonly Item[]) => Prisma.Sql) => {
    for (let from = 0; from < items.length; from += BATCH) {
      const part = items.slice(from, from + BATCH);
      await db.$executeRaw(statement(part));
      written(part.length);
    }
  };
  for (const { table, deletes } of changes.toReversed()) {
    await inBatches(deletes, (ids) => deletion(table, tenantId, ids));
  }
  for (const { table, creates, updates } of changes) {
    await inBatches(updates, (rows) => update(table, tenantId, rows));
    await inBatches(creates, (rows) => insertion(table, rows));
  }
}

function update(table: CatalogTable, tenantId: string, rows: readonly object[]): Prisma.Sql {
  const columns = columnsOf(rows)
    .filter((column) => column !== 'id')
    .map(identifier);
  const assignments = Prisma.join(columns.map((column) => Prisma.sql`${column} = wanted.${column}`));
  return Prisma.sql`UPDATE ${identifier(table)} AS stored SET ${assignments} FROM ${recordset(table, rows)} AS wanted
    WHERE stored.tenant_id = ${tenantId} AND stored.id = wanted.id`;
}

function deletion(table: CatalogTable, tenantId: string, ids: readonly string[]): Prisma.Sql {
  return Prisma.sql`DELETE FROM ${identifier(table)} WHERE tenant_id = ${tenantId} AND id = ANY(${[...ids]}::uuid[])`;
}
