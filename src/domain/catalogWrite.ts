import { Prisma } from '../../generated/prisma/client.js';
import type { CatalogTable, TableChange } from './catalogDraft.js';
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

/** All rows as one JSON parameter: PostgreSQL makes them rows of the table's own type. */
function recordset(table: CatalogTable, rows: readonly object[]): Prisma.Sql {
  const records = rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([field, value]) => [columnOf(field), value])),
  );
  return Prisma.sql`jsonb_populate_recordset(NULL::${identifier(table)}, ${JSON.stringify(records)}::jsonb)`;
}

function insertion(table: CatalogTable, rows: readonly object[]): Prisma.Sql {
  const columns = Prisma.join(columnsOf(rows).map(identifier));
  return Prisma.sql`INSERT INTO ${identifier(table)} (${columns}) SELECT ${columns} FROM ${recordset(table, rows)}`;
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

/** All rows of a change have the same fields. */
function columnsOf([first = {}]: readonly object[]): string[] {
  return Object.keys(first).map(columnOf);
}

/** Prisma's field to PostgreSQL's column: `legalName` → `legal_name`. */
function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A table or column of ours, never text from outside. */
function identifier(name: string): Prisma.Sql {
  return Prisma.raw(`"${name}"`);
}
