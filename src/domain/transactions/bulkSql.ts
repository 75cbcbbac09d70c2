import { Prisma } from '../../../generated/prisma/client.js';

/**
 * Inserts any number of rows in one statement. Rows are named as in the Prisma schema and all have the same fields;
 * what they leave out gets its default.
 * @param table a known table, never text from outside
 */
export function insertion(table: string, rows: readonly object[]): Prisma.Sql {
  const columns = Prisma.join(columnsOf(rows).map(identifier));
  return Prisma.sql`INSERT INTO ${identifier(table)} (${columns})
    SELECT ${columns} FROM ${recordset(table, rows)}`;
}

/** The same for rows of one tenant, which they do not name: it is the first parameter. */
export function tenantInsertion(tenantId: string, table: string, rows: readonly object[]): Prisma.Sql {
  const columns = Prisma.join(columnsOf(rows).map(identifier));
  return Prisma.sql`INSERT INTO ${identifier(table)} (tenant_id, ${columns})
    SELECT ${tenantId}::text AS tenant_id, ${columns} FROM ${recordset(table, rows)}`;
}

/** The assignments of `ON CONFLICT … DO UPDATE SET` that take the values of the rejected row. */
export function fromExcluded(columns: readonly string[]): Prisma.Sql {
  return Prisma.join(columns.map(identifier).map((column) => Prisma.sql`${column} = excluded.${column}`));
}

/** All rows as one JSON parameter: PostgreSQL makes them rows of the table's own type. */
export function recordset(table: string, rows: readonly object[]): Prisma.Sql {
  const records = rows.map((row) => {
    const record: Record<string, unknown> = {};
    for (const [field, value] of Object.entries(row)) {
      record[columnOf(field)] = jsonValue(value);
    }
    return record;
  });
  return Prisma.sql`jsonb_populate_recordset(NULL::${identifier(table)}, ${JSON.stringify(records)}::jsonb)`;
}

/** A value that JSON lacks, as text that its column reads. */
function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value;
}

/** Statements as parts of one, in which none sees what another writes; foreign keys are checked at its end. */
export function withParts(parts: readonly Prisma.Sql[], last: Prisma.Sql): Prisma.Sql {
  return parts.length > 0 ? Prisma.sql`WITH ${named(parts)} ${last}` : last;
}

/** The parts of such a statement under names. */
export const named = (parts: readonly Prisma.Sql[]): Prisma.Sql =>
  Prisma.join(parts.map((sql, index) => Prisma.sql`${identifier(`part ${index}`)} AS (${sql})`));

/** Columns of a model, all unless said otherwise, under their fields' names: with them a raw query returns rows of its type. */
export function fieldsOf(
  model: Prisma.ModelName,
  alias: string,
  fields: readonly string[] = Object.keys(Prisma[`${model}ScalarFieldEnum`]),
): Prisma.Sql {
  return Prisma.raw(fields.map((field) => `"${alias}"."${columnOf(field)}" AS "${field}"`).join(', '));
}

/** A row as JSON; with {@link JsonOf} its type. */
export function jsonOf(
  model: Prisma.ModelName,
  alias: string,
  parts: Readonly<Record<string, Prisma.Sql>> = {},
): Prisma.Sql {
  const own = Object.keys(Prisma[`${model}ScalarFieldEnum`]).map((field) =>
    Prisma.raw(`'${field}', "${alias}"."${columnOf(field)}"`),
  );
  const others = Object.entries(parts).map(([name, part]) => Prisma.sql`${Prisma.raw(`'${name}'`)}, ${part}`);
  return Prisma.sql`json_build_object(${Prisma.join([...own, ...others])})`;
}

/** What JSON makes of a row: times become text, amounts numbers, which are exact to the cent below 10^12. */
export type JsonOf<T> = { readonly [Key in keyof T]: JsonValueOf<T[Key]> };
type JsonValueOf<Value> = Value extends Date ? string : Value extends Prisma.Decimal ? number : Value;

/** The columns of rows that have the same fields. */
export function columnsOf([first = {}]: readonly object[]): string[] {
  return Object.keys(first).map(columnOf);
}

/** A known table or column, never text from outside. */
export function identifier(name: string): Prisma.Sql {
  return Prisma.raw(`"${name}"`);
}

/** The table of a model. */
export const tableOf = (model: Prisma.ModelName): string => (model === 'Patient' ? 'client' : columnOf(model).slice(1));

/** Prisma's field to PostgreSQL's column: `legalName` → `legal_name`. */
function columnOf(field: string): string {
  const known = columns.get(field);
  if (known !== undefined) return known;
  const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  columns.set(field, column);
  return column;
}

/** Fields are those of the schema, so they are few. */
const columns = new Map<string, string>();
