import { escapeLiteral, type Client } from 'pg';
import { withClient } from '../database/withClient.js';

/** A table with rows of tenants. Its names are quoted for SQL. */
export interface TenantTable {
  readonly name: string;
  /** The column with the tenant's id. */
  readonly key: string;
  /** All columns except generated ones, which cannot be inserted. */
  readonly columns: string;
  /** `columns` as values for hashes: enumerations are text, because their own hashes differ between databases. */
  readonly values: string;
}

/** Tables that are not copied: the audit stays in its cell, and each cell has its own directory. */
const OTHERS = ['audit_event', 'audit_seal', 'tenant_cell'];

/** All tables with rows of tenants, in an order in which foreign keys point to earlier tables, except deferred ones. */
export async function tenantTables(client: Client): Promise<TenantTable[]> {
  const { rows } = await client.query<TenantTable & { needs: string[] }>(
    `SELECT quote_ident(relname) AS name, CASE relname WHEN 'tenant' THEN 'id' ELSE 'tenant_id' END AS key, columns, values,
       ARRAY(SELECT DISTINCT confrelid::regclass::text FROM pg_constraint
         WHERE contype = 'f' AND NOT condeferred AND conrelid = pg_class.oid AND confrelid <> conrelid) AS needs
     FROM pg_class, LATERAL (SELECT string_agg(name, ', ' ORDER BY name) AS columns,
         string_agg(name || CASE WHEN typtype = 'e' THEN '::text' WHEN typelem IN (SELECT enumtypid FROM pg_enum) THEN '::text[]' ELSE '' END,
           ', ' ORDER BY name) AS values
       FROM (SELECT quote_ident(attname) AS name, atttypid FROM pg_attribute
         WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS attribute
       JOIN pg_type ON pg_type.oid = atttypid) AS lists
     WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> ALL ($1)
       AND (relname = 'tenant' OR EXISTS (SELECT FROM pg_attribute
         WHERE attrelid = pg_class.oid AND attname = 'tenant_id' AND NOT attisdropped)) ORDER BY relname`,
    [OTHERS],
  );
  const ordered: TenantTable[] = [];
  for (let rest = rows; rest.length > 0;) {
    const isReady = ({ needs }: { needs: string[] }) => !rest.some(({ name }) => needs.includes(name));
    const ready = rest.filter(isReady);
    if (ready.length === 0) throw new Error(`Foreign keys form a circle: ${rest.map(({ name }) => name).join(', ')}.`);
    ordered.push(...ready);
    rest = rest.filter((table) => !ready.includes(table));
  }
  return ordered;
}

/** The condition on the rows of a tenant. */
export const ofTenant = ({ key }: TenantTable, tenantId: string): string => `${key} = ${escapeLiteral(tenantId)}`;

/** Deletes a tenant's rows. @returns the number of deleted rows */
export async function deleteRows(client: Client, tables: readonly TenantTable[], tenantId: string): Promise<number> {
  let total = 0;
  await client.query('BEGIN');
  for (const table of tables.toReversed()) {
    total += (await client.query(`DELETE FROM ${table.name} WHERE ${ofTenant(table, tenantId)}`)).rowCount ?? 0;
  }
  await client.query('COMMIT');
  return total;
}

/** The name of the first table that has a row of the tenant; undefined if none has. */
export async function tableWithRows(client: Client, tables: readonly TenantTable[], tenantId: string) {
  for (const table of tables) {
    const { rowCount } = await client.query(`SELECT FROM ${table.name} WHERE ${ofTenant(table, tenantId)} LIMIT 1`);
    if (rowCount === 1) return table.name;
  }
  return undefined;
}

/**
 * For each table, the number of a tenant's rows and the sum of their 64-bit hashes, to compare two cells. The query
 * uses one core: with more, other tenants of the cell would wait.
 */
export async function tenantDigests(url: string, tables: readonly TenantTable[], tenantId: string) {
  const digests = new Map<string, string>();
  await withClient({ connectionString: url }, async (client) => {
    await client.query('SET max_parallel_workers_per_gather = 0');
    for (const table of tables) {
      const { rows } = await client.query<{ digest: string }>(
        `SELECT concat(count(*), ' ', sum(hash_record_extended(ROW(${table.values}), 0))) AS digest
         FROM ${table.name} WHERE ${ofTenant(table, tenantId)}`,
      );
      digests.set(table.name, rows[0]?.digest ?? '');
    }
  });
  return digests;
}

/** Gap between the source's last number and the target's next one; more than the source can assign in the meantime. */
const MARGIN = 1_000;

/** Moves the target's sequences past the source's: a tenant gets no number twice, and audit cursors stay valid. */
export async function passSequences(source: Client, target: Client): Promise<void> {
  const { rows } = await source.query<{ name: string; last: string }>(
    `SELECT quote_ident(sequencename) AS name, last_value::text AS last FROM pg_sequences
     WHERE schemaname = 'public' AND last_value IS NOT NULL`,
  );
  for (const { name, last } of rows) {
    const passed = BigInt(last) + BigInt(MARGIN);
    await target.query(`SELECT setval('${name}', $1) FROM ${name} WHERE last_value < $1`, [String(passed)]);
  }
}

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
    if (isReal === false) throw new Error(`${table} has the number ${last}, which would use up the numbers of others.`);
    await client.query(`SELECT setval($1, greatest(nextval($1), $2::bigint + ${MARGIN}))`, [sequence, last]);
  }
}

/** Whether the target has another tenant with the name or id of the source's: operators may give either to a command. */
export async function hasNamesake(source: Client, target: Client, tenantId: string): Promise<boolean> {
  const { rows } = await source.query<{ name: string }>('SELECT name FROM tenant WHERE id = $1', [tenantId]);
  const { rowCount } = await target.query(
    'SELECT FROM tenant WHERE id <> $1 AND (lower(name) IN ($1, lower($2)) OR id = lower($2))',
    [tenantId, rows[0]?.name],
  );
  return rowCount !== 0;
}
