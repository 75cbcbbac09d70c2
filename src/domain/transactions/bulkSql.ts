import { Prisma } from '../../../generated/prisma/client.js';

/** An INSERT of rows with equal fields; omitted columns get their defaults. @param table never text of a caller */
export function insertion(table: string, rows: readonly object[]): Prisma.Sql {
  const columns = identifiers(columnsOf(rows));
  return Prisma.sql`INSERT INTO ${identifier(table)} (${columns})
    SELECT ${columns} FROM ${recordset(table, rows)}`;
}

/** The fields of rows, and their columns as a list in SQL. */
export interface RowForm {
  readonly fields: readonly string[];
  readonly columns: Prisma.Sql;
}

/** The form of rows with these fields. */
export const rowForm = (fields: readonly string[]): RowForm => ({ fields, columns: identifiers(fields.map(columnOf)) });

/** An INSERT of rows of one tenant. @param form of the rows, without `tenantId` */
export function tenantInsertion(
  tenantId: string,
  table: string,
  rows: readonly object[],
  { fields, columns } = rowForm(fieldsIn(rows)),
): Prisma.Sql {
  return Prisma.sql`INSERT INTO ${identifier(table)} (tenant_id, ${columns})
    SELECT ${tenantId}::text AS tenant_id, ${columns} FROM ${recordset(table, rows, fields)}`;
}

/** The assignments of `ON CONFLICT … DO UPDATE SET` that take the values of the row to be inserted. */
export function fromExcluded(columns: readonly string[]): Prisma.Sql {
  return Prisma.join(columns.map(identifier).map((column) => Prisma.sql`${column} = excluded.${column}`));
}

/** Rows as one JSON parameter, which PostgreSQL converts to rows of the table's type. */
export function recordset(table: string, rows: readonly object[], fields = fieldsIn(rows)): Prisma.Sql {
  const records = rows.map((row) => {
    const record: Record<string, unknown> = {};
    for (const field of fields) {
      const value: unknown = Reflect.get(row, field);
      // Omit null members: PostgreSQL gives missing members the value null.
      if (value !== null) record[columnOf(field)] = jsonValue(value);
    }
    return record;
  });
  return Prisma.sql`jsonb_populate_recordset(NULL::${identifier(table)}, ${JSON.stringify(records)}::jsonb)`;
}

/** Converts a value that JSON cannot represent to text that its column can read. */
function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value;
}

/** Stands for the tenant in a fragment that {@link forTenant} has built. */
const ANY_TENANT = 'any tenant';

/** A fragment of SQL that names the tenant: built once, because it has many columns; each use fills in its tenant. */
export function forTenant(build: (tenantId: string) => Prisma.Sql): (tenantId: string) => Prisma.Sql {
  const { strings, values } = build(ANY_TENANT);
  return (tenantId) =>
    new Prisma.Sql(
      strings,
      values.map((value) => (value === ANY_TENANT ? tenantId : value)),
    );
}

/** Combines statements into one. None sees the rows that another one writes; foreign keys are checked at the end. */
export function withParts(parts: readonly Prisma.Sql[], last: Prisma.Sql): Prisma.Sql {
  return parts.length > 0 ? Prisma.sql`WITH ${named(parts)} ${last}` : last;
}

/** Names the parts of a combined statement, so that SQL can contain them as common table expressions. */
export const named = (parts: readonly Prisma.Sql[]): Prisma.Sql =>
  Prisma.join(parts.map((sql, index) => Prisma.sql`${identifier(`part ${index}`)} AS (${sql})`));

/** Selects the columns of a model under the names of their fields, so that rows have the model's type. */
export function fieldsOf(
  model: Prisma.ModelName,
  alias: string,
  fields: readonly string[] = Object.keys(Prisma[`${model}ScalarFieldEnum`]),
): Prisma.Sql {
  return Prisma.raw(fields.map((field) => `"${alias}"."${columnOf(field)}" AS "${field}"`).join(', '));
}

/** An SQL expression for a row as JSON, of type {@link JsonOf}. */
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

/** The fields of rows, which all have the same fields. */
const fieldsIn = ([first = {}]: readonly object[]): readonly string[] => Object.keys(first);

/** The columns of rows that all have equal fields. */
export const columnsOf = (rows: readonly object[]): string[] => fieldsIn(rows).map(columnOf);

/** The columns of rows as a list in SQL, except those in `without`. */
export const columnList = (rows: readonly object[], without: readonly string[] = []): Prisma.Sql =>
  identifiers(columnsOf(rows).filter((column) => !without.includes(column)));

/** Lists column names as one text: joining a fragment of SQL per column would cost each write 4 µs. */
const identifiers = (names: readonly string[]): Prisma.Sql => Prisma.raw(names.map((name) => `"${name}"`).join(', '));

/** Quotes a known table or column. @param name never text of a caller */
export const identifier = (name: string): Prisma.Sql => Prisma.raw(`"${name}"`);

/** The table of a model. */
export const tableOf = (model: Prisma.ModelName): string => (model === 'Patient' ? 'client' : columnOf(model).slice(1));

/** Maps a Prisma field to its column: `legalName` → `legal_name`. */
export function columnOf(field: string): string {
  const known = columns.get(field);
  if (known !== undefined) return known;
  const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  columns.set(field, column);
  return column;
}

/** Cache of column and table names by the name in Prisma; the schema limits its size. */
const columns = new Map<string, string>();
