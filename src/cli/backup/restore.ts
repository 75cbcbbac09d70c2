import type { ObjectStore } from '../../adapters/objects/objectStore.js';
import { markRestore } from '../../adapters/database/restoreMark.js';
import { withClient, type Connection } from '../../adapters/database/withClient.js';
import { describeDatabase } from './backUp.js';
import type { BackupStore } from './backupStore.js';
import * as backups from './manifest.js';
import type { BackedUpObject, Manifest } from './manifest.js';
import type { PgProgram } from './programs.js';

interface Target {
  /** Address of the role that will own the schema. */
  readonly url: string;
  readonly store: ObjectStore;
  /** Finds a pg_restore for a server of this major version. */
  readonly pgRestore: (server: number) => Promise<PgProgram>;
}

/**
 * Restores verified files into an empty database. Objects come first; the rows follow, in one transaction. Until {@link
 * unmarkRestore}, the database is marked as incomplete.
 * @returns the number of objects that the store lacked, or had with other content
 */
export async function restoreFiles(backup: BackupStore, manifest: Manifest, { url, store, pgRestore }: Target) {
  return withClient({ connectionString: url }, async (client) => {
    const { rows: present, server } = await describeDatabase(client);
    const [table] = Object.keys(present);
    if (table !== undefined) {
      throw new Error(
        `The database is not empty: it has the table ${table}. Name an empty one in DATABASE_URL, DATABASE_DIRECT_URL and DATABASE_OWNER_URL, as far as set, else use another DATA_DIR.`,
      );
    }
    const program = await pgRestore(server);
    await store.check();
    await markRestore(client);
    let stored = 0;
    await backups.each(backup, manifest.objects, async (object) => {
      if (await putMissing(store, backup, object)) stored += 1;
    });
    await restoreRows(client, backup, manifest, { url, program });
    return { stored };
  });
}

async function restoreRows(
  client: Connection,
  backup: BackupStore,
  { dump, rows: expected }: Manifest,
  { url, program }: { readonly url: string; readonly program: PgProgram },
): Promise<void> {
  const options = ['--no-owner', '--no-privileges', '--exit-on-error', '--single-transaction'];
  await program.feed(backup.read(dump.file), url, ...options);
  const { rows } = await describeDatabase(client);
  const wrong = Object.keys(expected).filter((name) => rows[name] !== expected[name]);
  if (wrong.length > 0)
    throw new Error(
      `The rows of ${wrong.join(', ')} differ in number from the manifest. Restore again, into another empty database; if that fails, too, restore another backup.`,
    );
  // Without statistics, PostgreSQL's plans are for empty tables: statements would time out until autovacuum comes.
  await client.query('ANALYZE');
}

/** Stores an object unless the store has it with the same content. */
export async function putMissing(
  store: ObjectStore,
  backup: BackupStore,
  { key, sha256, contentType }: BackedUpObject,
) {
  const present = await backups.digestOf(store.read(key)).catch(() => null);
  if (present === sha256) return false;
  let failure: { readonly error: unknown } | undefined;
  async function* watched() {
    try {
      yield* backup.read(backups.objectFile(sha256));
    } catch (error) {
      failure = { error };
      throw error;
    }
  }
  await store.put(key, watched(), contentType).catch((error: unknown) => {
    // The store reports the folder's errors as its own.
    throw failure ? failure.error : error;
  });
  return true;
}
