import { Prisma } from '../../../generated/prisma/client.js';
import type { Queries } from '../../adapters/database/statements.js';
import { columnsOf, fieldsOf, identifier, recordset, tableOf, tenantInsertion } from './bulkSql.js';

/** A row of a model with all columns, under the names of the model's fields. */
export type RowOf<Model extends Prisma.ModelName> = Prisma.TypeMap['model'][Model]['payload']['scalars'];

/** Reads rows of a tenant. @param where a condition, which may continue with ORDER BY and LIMIT */
export function findRows<Model extends Prisma.ModelName>(
  db: Queries,
  tenantId: string,
  model: Model,
  where: Prisma.Sql,
): Promise<RowOf<Model>[]> {
  const table = tableOf(model);
  return db.of(tenantId).rows<RowOf<Model>>`
    SELECT ${fieldsOf(model, table)} FROM ${identifier(table)} WHERE tenant_id = ${tenantId} AND ${where}`;
}

/**
 * The condition that a column has one of the selected keys. PostgreSQL selects them first, and once, while it may execute
 * `IN (SELECT …)` for each row of the tenant: it knows no table's size before its first ANALYZE.
 */
export const keysThat = (select: Prisma.Sql): Prisma.Sql => Prisma.sql`= ANY (ARRAY(${select}))`;

/** Inserts rows that all have the same fields; omitted columns get their defaults. */
export async function insertRows<Model extends Prisma.ModelName>(
  db: Queries,
  tenantId: string,
  model: Model,
  rows: readonly Partial<RowOf<Model>>[],
): Promise<void> {
  if (rows.length > 0) await db.of(tenantId).run(tenantInsertion(tenantId, tableOf(model), rows));
}

/** New values of columns; undefined leaves a column unchanged. */
type NewValues<Model extends Prisma.ModelName> = {
  readonly [Field in keyof RowOf<Model>]?: RowOf<Model>[Field] | undefined;
};

/**
 * Updates rows of a tenant. The values are sent as JSON, so that PostgreSQL converts each to its column's type.
 * @param where a condition
 * @returns the number of updated rows
 */
export function updateRows<Model extends Prisma.ModelName>(
  db: Queries,
  tenantId: string,
  model: Model,
  data: NewValues<Model>,
  where: Prisma.Sql,
): Promise<number> {
  const table = tableOf(model);
  const changes = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
  const columns = Prisma.join(columnsOf([changes]).map(identifier));
  return db.of(tenantId).run`
    UPDATE ${identifier(table)} SET (${columns}) = (SELECT ${columns} FROM ${recordset(table, [changes])})
    WHERE tenant_id = ${tenantId} AND ${where}`;
}

/**
 * Takes the next number of a sequence; one that is not used is lost. Runs as a separate statement, because in a
 * distributed PostgreSQL only the coordinator has the sequence.
 */
export async function nextNumber(
  { everyTenant }: Queries,
  sequence: 'encounter_encounter_no_seq' | 'order_order_sequence_seq',
): Promise<bigint> {
  const { number } = await everyTenant.row<{ number: bigint }>`SELECT nextval(${sequence}) AS number`;
  return number;
}

/** Groups rows by a key. */
export function groupedBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): (key: string) => Row[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return (key) => groups.get(key) ?? [];
}
