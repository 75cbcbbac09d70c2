import { escapeLiteral } from 'pg';
import { withClient, type Connection } from './withClient.js';

/**
 * Replaces the rows and sequences of one database with those of another of the same schema. Both URLs are of
 * superusers. The database servers themselves write and read `file`, one table at a time.
 * @returns the number of copied rows
 * @throws Error naming tables that differ
 */
export function copyRows(from: string, to: string, file: string): Promise<number> {
  return withClient({ connectionString: from }, (source) =>
    withClient({ connectionString: to }, (target) => copyBetween(source, target, escapeLiteral(file))),
  );
}

async function copyBetween(source: Connection, target: Connection, file: string): Promise<number> {
  await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await target.query('BEGIN');
  // Skip triggers and foreign keys: the rows passed them in the source.
  await target.query('SET LOCAL session_replication_role = replica');
  const tables = await tablesOf(source);
  const others = new Map((await tablesOf(target)).map((table) => [textOf(table), table.name]));
  const changed = tables.filter((table) => !others.delete(textOf(table))).map(({ name }) => name);
  const different = new Set([...changed, ...others.values()]);
  if (different.size > 0)
    throw new Error(
      `The tables of the two databases differ: ${[...different].join(', ')}. Migrate both with this build.`,
    );
  await target.query(`TRUNCATE ${tables.map(({ name }) => name).join(', ')}`);
  let total = 0;
  for (const { name, columns } of tables) {
    const { rowCount: read } = await source.query(`COPY ${name} (${columns}) TO ${file}`);
    const { rowCount: written } = await target.query(`COPY ${name} (${columns}) FROM ${file}`);
    if (read !== written)
      throw new Error(`The table ${name} has ${read} rows, but only ${written} were copied. Run the command again.`);
    total += read ?? 0;
  }
  const { rows: sequences } = await source.query<{ name: string; value: string }>(`
    SELECT format('%I.%I', schemaname, sequencename) AS name, last_value AS value FROM pg_sequences
    WHERE last_value IS NOT NULL`);
  for (const { name, value } of sequences) await target.query('SELECT setval($1::text::regclass, $2)', [name, value]);
  await target.query('COMMIT');
  return total;
}

interface Table {
  readonly name: string;
  /** All columns except generated ones, which cannot be inserted. */
  readonly columns: string;
}

const textOf = ({ name, columns }: Table): string => `${name} (${columns})`;

async function tablesOf(client: Connection): Promise<Table[]> {
  const { rows } = await client.query<Table>(`
    SELECT attrelid::regclass::text AS name, string_agg(quote_ident(attname), ', ' ORDER BY attname) AS columns
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relkind = 'r' AND nspname !~ '^(pg_|information_schema$)'
      AND attnum > 0 AND NOT attisdropped AND attgenerated = '' GROUP BY attrelid ORDER BY name`);
  return rows;
}
