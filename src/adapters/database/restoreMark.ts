import { withClient, type Connection } from './withClient.js';

/** The table that marks a database as partly restored. It exists until the restore is complete. */
const NAME = 'restore_incomplete';
const TABLE = `public.${NAME}`;

/** Marks a database as partly restored, before a restore writes to it. */
export async function markRestore(client: Connection): Promise<void> {
  await client.query(`CREATE TABLE IF NOT EXISTS ${TABLE} (dump TEXT NOT NULL)`);
}

/** Records the digest of the dump once all its rows are in the database, so that a repeated restore skips them. */
export async function markRows(client: Connection, sha256: string): Promise<void> {
  await client.query(`INSERT INTO ${TABLE} VALUES ($1)`, [sha256]);
}

/** The digest recorded by {@link markRows}; undefined if there is none. */
export async function markedRows(client: Connection): Promise<string | undefined> {
  if (!(await isMarked(client))) return undefined;
  return (await client.query<{ dump: string }>(`SELECT dump FROM ${TABLE}`)).rows[0]?.dump;
}

/** Removes the mark after a complete restore. */
export async function unmarkRestore(url: string): Promise<void> {
  await withClient({ connectionString: url }, (client) => client.query(`DROP TABLE ${TABLE}`));
}

/** @throws Error if a restore into this database is not complete */
export async function assertRestored(url: string): Promise<void> {
  if (!(await withClient({ connectionString: url, connectionTimeoutMillis: 5_000 }, isMarked))) return;
  throw new Error('A restore into this database is not complete: repeat "ces restore", or drop the database.');
}

async function isMarked(client: Connection): Promise<boolean> {
  return (await client.query(`SELECT WHERE to_regclass('${TABLE}') IS NOT NULL`)).rowCount === 1;
}

/** Whether `table`, written `schema.name`, is the one that marks an incomplete restore. */
export const isMark = (table: string): boolean => table === TABLE;
