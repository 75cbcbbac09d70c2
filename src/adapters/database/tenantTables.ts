import { escapeLiteral, type Client } from 'pg';

/** A table with rows of tenants. Its names are quoted for SQL. */
export interface TenantTable {
  readonly name: string;
  /** The column with the tenant's id. */
  readonly key: string;
  /** All columns except generated ones, which cannot be inserted. */
  readonly columns: string;
}

/** All tables with rows of tenants except the audit's. Their order is irrelevant, because foreign keys are deferred. */
export async function tenantTables(client: Client): Promise<TenantTable[]> {
  const { rows } = await client.query<TenantTable>(
    `SELECT quote_ident(relname) AS name, CASE relname WHEN 'tenant' THEN 'id' ELSE 'tenant_id' END AS key, columns
     FROM pg_class, LATERAL (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attname) AS columns FROM pg_attribute
         WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS lists
     WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname !~ '^audit_'
       AND (relname = 'tenant' OR EXISTS (SELECT FROM pg_attribute
         WHERE attrelid = pg_class.oid AND attname = 'tenant_id' AND NOT attisdropped)) ORDER BY relname`,
  );
  return rows;
}

/** The condition on the rows of a tenant. */
export const ofTenant = ({ key }: TenantTable, tenantId: string): string => `${key} = ${escapeLiteral(tenantId)}`;

/** The name of the first table that has a row of the tenant; undefined if none has. */
export async function tableWithRows(client: Client, tables: readonly TenantTable[], tenantId: string) {
  for (const table of tables) {
    const { rowCount } = await client.query(`SELECT FROM ${table.name} WHERE ${ofTenant(table, tenantId)} LIMIT 1`);
    if (rowCount === 1) return table.name;
  }
  return undefined;
}

/** Minimum gap between the tenant's last imported number and the next one: the source may have assigned more since. */
const MARGIN = 1_000;

/** Largest number that an import may bring: it moves the sequences, whose numbers all tenants share. */
const MAX_NUMBER = 10 ** 12;

/** Moves the sequences past the numbers of a tenant's imported rows. @throws Error for a number too large to be real */
export async function passNumbers(client: Client, tenantId: string): Promise<void> {
  const { rows } = await client.query<{ table: string; column: string; sequence: string }>(
    `SELECT attrelid::regclass::text AS table, quote_ident(attname) AS column,
       pg_get_serial_sequence(attrelid::regclass::text, attname) AS sequence FROM pg_attribute WHERE attidentity = 'd'`,
  );
  for (const { table, column, sequence } of rows) {
    const { rows: numbers } = await client.query<{ isReal: boolean | null; last: string | null }>(
      `SELECT max(${column}) <= ${MAX_NUMBER} AS "isReal", max(${column}) AS last FROM ${table} WHERE tenant_id = $1`,
      [tenantId],
    );
    const [{ isReal, last } = { isReal: null, last: null }] = numbers;
    if (isReal === false)
      throw new Error(
        `The export has the number ${last} in ${table}, above the limit of ${MAX_NUMBER}. Nothing was imported. Export the tenant again; if the number stays, it is wrong in the exported database.`,
      );
    await client.query(`SELECT setval($1, greatest(nextval($1), $2::bigint + ${MARGIN}))`, [sequence, last]);
  }
}

/** Whether another tenant has the name or id of this one: operators may give either to a command. */
export async function hasNamesake(client: Client, tenantId: string): Promise<boolean> {
  const { rows } = await client.query<{ name: string }>('SELECT name FROM tenant WHERE id = $1', [tenantId]);
  const { rowCount } = await client.query(
    'SELECT FROM tenant WHERE id <> $1 AND (lower(name) IN ($1, lower($2)) OR id = lower($2))',
    [tenantId, rows[0]?.name],
  );
  return rowCount !== 0;
}

/** Whether another tenant has the `client_id` of one of this tenant's API clients: a login could then be either's. */
export async function sharesClientId(client: Client, tenantId: string): Promise<boolean> {
  const { rows } = await client.query<{ own: string[] }>(
    'SELECT array_agg(client_id) AS own FROM api_client WHERE tenant_id = $1',
    [tenantId],
  );
  const { rowCount } = await client.query('SELECT FROM api_client WHERE tenant_id <> $1 AND client_id = ANY ($2)', [
    tenantId,
    rows[0]?.own,
  ]);
  return rowCount !== 0;
}
