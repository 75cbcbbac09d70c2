import { withClient, type Connection } from './withClient.js';

/** A database has this table until a restore into it is complete. */
const NAME = 'restore_incomplete';
const TABLE = `public.${NAME}`;

/** Marks a database before its restore. */
export async function markRestore(client: Connection): Promise<void> {
  await client.query(`CREATE TABLE IF NOT EXISTS ${TABLE} (dump TEXT NOT NULL)`);
}

/** Notes that the database has all rows of this dump, so that a repeated restore only does what remains. */
export async function markRows(client: Connection, sha256: string): Promise<void> {
  await client.query(`INSERT INTO ${TABLE} VALUES ($1)`, [sha256]);
}

/** The digest of {@link markRows}; undefined without a mark. */
export async function markedRows(client: Connection): Promise<string | undefined> {
  if (!(await isMarked(client))) return undefined;
  return (await client.query<{ dump: string }>(`SELECT dump FROM ${TABLE}`)).rows[0]?.dump;
}

/** Removes the mark: the restore is complete. */
export async function unmarkRestore(url: string): Promise<void> {
  await withClient({ connectionString: url }, (client) => client.query(`DROP TABLE ${TABLE}`));
}

/** @throws Error for a database whose restore is not complete */
export async function assertRestored(url: string): Promise<void> {
  if (!(await withClient({ connectionString: url, connectionTimeoutMillis: 5_000 }, isMarked))) return;
  throw new Error('A restore into this database is not complete: repeat "ces restore", or drop the database.');
}

async function isMarked(client: Connection): Promise<boolean> {
  return (await client.query(`SELECT WHERE to_regclass('${TABLE}') IS NOT NULL`)).rowCount === 1;
}

/** Whether a table, as `schema.name`, is the mark. */
export const isMark = (table: string): boolean => table === TABLE;
