import { withClient, type Connection } from './withClient.js';

/** The table that marks a database as partly restored. It exists until the restore is complete. */
const TABLE = 'public.restore_incomplete';

/** Marks a database as partly restored, before a restore writes to it. */
export async function markRestore(client: Connection): Promise<void> {
  await client.query(`CREATE TABLE ${TABLE} ()`);
}

/** Removes the mark after a complete restore. */
export async function unmarkRestore(url: string): Promise<void> {
  await withClient({ connectionString: url }, (client) => client.query(`DROP TABLE ${TABLE}`));
}

/** @throws Error if a restore into this database is not complete */
export async function assertRestored(url: string): Promise<void> {
  if (!(await withClient({ connectionString: url, connectionTimeoutMillis: 5_000 }, isMarked))) return;
  throw new Error(
    'A restore into this database is not complete. Wait if it still runs; otherwise restore into an empty database (scripts/production/backup.md#restore).',
  );
}

async function isMarked(client: Connection): Promise<boolean> {
  return (await client.query(`SELECT WHERE to_regclass('${TABLE}') IS NOT NULL`)).rowCount === 1;
}
