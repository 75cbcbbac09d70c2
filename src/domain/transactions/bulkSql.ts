import { Prisma } from '../../../generated/prisma/client.js';

/** Inserts rows with equal fields; omitted columns get their defaults. @param table never text of a caller */
export function insertion(table: string, rows: readonly object[]): Prisma.Sql {
  const columns = identifiers(columnsOf(rows));
  return Prisma.sql`INSERT INTO ${identifier(table)} (${columns})
    SELECT ${columns} FROM ${recordset(table, rows)}`;
}

/** Inserts rows of one tenant; the rows have no `tenantId`. */
export function tenantInsertion(tenantId: string, table: string, rows: readonly object[]): Prisma.Sql {
  const columns = identifiers(columnsOf(rows));
  return Prisma.sql`INSERT INTO ${identifier(table)} (tenant_id, ${columns})
    SELECT ${tenantId}::text AS tenant_id, ${columns} FROM ${recordset(table, rows)}`;
}

/** The assignments of `ON CONFLICT … DO UPDATE SET` from the rejected row. */
export function fromExcluded(columns: readonly string[]): Prisma.Sql {
  return Prisma.join(columns.map(identifier).map((column) => Prisma.sql`${column} = excluded.${column}`));
}

/** Rows as one JSON parameter, which PostgreSQL converts to the table's row type. */
export function recordset(table: string, rows: readonly object[]): Prisma.Sql {
  const records = rows.map((row) => {
    const record: Record<string, unknown> = {};
    for (const [field, value] of Object.entries(row)) {
      // A member that is missing is null in its row, too.
      if (value !== null) record[columnOf(field)] = jsonValue(value);
    }
    return record;
  });
  return Prisma.sql`jsonb_populate_recordset(NULL::${identifier(table)}, ${JSON.stringify(records)}::jsonb)`;
}

/** Converts a value that JSON lacks to text that its column reads. */
function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value;
}

/** Combines statements into one. No part sees the rows that another writes; foreign keys are checked at the end. */
export function withParts(parts: readonly Prisma.Sql[], last: Prisma.Sql): Prisma.Sql {
  return parts.length > 0 ? Prisma.sql`WITH ${named(parts)} ${last}` : last;
}

/** The named parts of a combined statement. */
export const named = (parts: readonly Prisma.Sql[]): Prisma.Sql =>
  Prisma.join(parts.map((sql, index) => Prisma.sql`${identifier(`part ${index}`)} AS (${sql})`));

/** Selects the columns of a model under the names of their fields, so that a query returns rows of the model's type. */
export function fieldsOf(
  model: Prisma.ModelName,
  alias: string,
  fields: readonly string[] = Object.keys(Prisma[`${model}ScalarFieldEnum`]),
): Prisma.Sql {
  return Prisma.raw(fields.map((field) => `"${alias}"."${columnOf(field)}" AS "${field}"`).join(', '));
}

/** A row as JSON, of type {@link JsonOf}. */
export function jsonOf(
  model: Prisma.ModelName,
  alias: string,
  parts: Readonly<Record<string, Prisma.Sql>> = {},
  fields: readonly string[] = Object.keys(Prisma[`${model}ScalarFieldEnum`]),
): Prisma.Sql {
  const own = fields.map((field) => Prisma.raw(`'${field}', "${alias}"."${columnOf(field)}"`));
  const others = Object.entries(parts).map(([name, part]) => Prisma.sql`${Prisma.raw(`'${name}'`)}, ${part}`);
  return Prisma.sql`json_build_object(${Prisma.join([...own, ...others])})`;
}

/** A row after its conversion to JSON: times are text, and amounts are numbers, exact to the cent below 10^12. */
export type JsonOf<T> = { readonly [Key in keyof T]: JsonValueOf<T[Key]> };
type JsonValueOf<Value> = Value extends Date ? string : Value extends Prisma.Decimal ? number : Value;

/** The columns of rows with equal fields. */
export function columnsOf([first = {}]: readonly object[]): string[] {
  return Object.keys(first).map(columnOf);
}

/** Lists known columns as one text: to join a statement per column costs a write 4 µs. */
const identifiers = (names: readonly string[]): Prisma.Sql => Prisma.raw(names.map((name) => `"${name}"`).join(', '));

/** Quotes a known table or column. @param name never text of a caller */
export const identifier = (name: string): Prisma.Sql => identifiers([name]);

/** The table of a model. */
export const tableOf = (model: Prisma.ModelName): string => (model === 'Patient' ? 'client' : columnOf(model).slice(1));

/** Maps a Prisma field to its column: `legalName` → `legal_name`. */
function columnOf(field: string): string {
  const known = columns.get(field);
  if (known !== undefined) return known;
  const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  columns.set(field, column);
  return column;
}

/** Bounded by the fields of the schema. */
const columns = new Map<string, string>();
