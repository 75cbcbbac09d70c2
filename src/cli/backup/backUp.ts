import { randomUUID } from 'node:crypto';
import type { ObjectStore } from '../../adapters/objects/objectStore.js';
import { assertRestored } from '../../adapters/database/restoreMark.js';
import { withClient, type Connection } from '../../adapters/database/withClient.js';
import { version } from '../../packageRoot.js';
import { Problem } from '../../problem.js';
import type { BackupStore } from './backupStore.js';
import type { Keep } from './keep.js';
import * as backups from './manifest.js';
import type { BackedUpObject, Manifest } from './manifest.js';
import type { PgProgram } from './programs.js';

interface Source {
  /** Address of a role that may read all tables. */
  readonly url: string;
  readonly store: ObjectStore;
  /** Finds a pg_dump that can dump a server of this major version. */
  readonly pgDump: (server: number) => Promise<PgProgram>;
  /** The encrypted keys to add; null = without keys. */
  readonly keys: string | null;
  /** Which earlier backups to keep. */
  readonly keep?: Keep | undefined;
}

/** Number of the advisory lock for backups; fixed, and unused elsewhere. */
const LOCK = 0x63_65_73_04;

/** The number of rows of each table, and the server's major version. */
export async function describeDatabase(client: Connection): Promise<{ rows: Record<string, number>; server: number }> {
  const tables = await client.query<{ name: string }>(`
    SELECT format('%I.%I', nspname, relname) AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relkind = 'r' AND nspname !~ '^(pg_|information_schema$)' ORDER BY name`);
  const rows: Record<string, number> = {};
  for (const { name } of tables.rows) {
    const counted = await client.query<{ count: number }>(`SELECT count(*)::float AS count FROM ${name}`);
    rows[name] = counted.rows[0]?.count ?? 0;
  }
  return { rows, server: await majorVersion(client) };
}

/** The major version of the server. */
export async function majorVersion(client: Connection): Promise<number> {
  const { rows } = await client.query<{ server: number }>(
    `SELECT current_setting('server_version_num')::int / 10000 AS server`,
  );
  return rows[0]?.server ?? 0;
}

/**
 * Brings the backup up to date. It dumps the database first: because an object is removed only after its row, the
 * objects of the dumped rows exist, except those whose rows were removed meanwhile.
 * @returns the manifest, the number of copied objects, the names of unreadable manifests, and the keys of documents whose
 * object is missing or damaged
 */
export async function backUp(target: BackupStore, { url, store, pgDump, keys, keep }: Source) {
  await store.check();
  return withClient({ connectionString: url }, async (client) => {
    const { rows: lock } = await client.query<{ owned: boolean }>('SELECT pg_try_advisory_lock($1) AS owned', [LOCK]);
    if (!lock[0]?.owned)
      throw new Error('Another backup of this database is running. Wait until it ends, then repeat the command.');
    await assertRestored(url);
    const database = await identityOf(client);
    await backups.assertBackupOf(target, database);
    const { documents, ...dumped } = await dump(client, target, url, pgDump);
    const objects: BackedUpObject[] = [];
    const missing: string[] = [];
    let copied = 0;
    await backups.each(target, documents, async (object) => {
      const result = await copy(store, target, object);
      if (result === 'missing') missing.push(object.key);
      else objects.push(object);
      if (result === 'copied') copied += 1;
    });
    const name = `keys-${randomUUID()}.json`;
    const manifest: Manifest = {
      ...{ format: 1, version, database, ...dumped, objects, missing },
      keys: keys === null ? null : { file: name, sha256: await target.write(name, backups.bodyOf(keys)) },
    };
    const unreadable = await backups.writeManifest(target, manifest, keep);
    const named = 'SELECT blob_path AS key FROM document WHERE blob_path = ANY ($1)';
    const { rows: lost } = await client.query<{ key: string }>(named, [missing]);
    return { manifest, copied, unreadable, lost: lost.map(({ key }) => key) };
  });
}

/** Identifies a database. A promoted standby keeps the identity; a restored dump has another one. */
async function identityOf(client: Connection): Promise<string> {
  const { rows } = await client.query<{ id: string }>(`
    SELECT concat_ws('/', system_identifier, oid) AS id FROM pg_control_system(), pg_database WHERE datname = current_database()`);
  return rows[0]?.id ?? '';
}

/** The documents of a tenant; with null, those of all tenants. */
export async function documentsOf(client: Connection, tenantId: string | null): Promise<BackedUpObject[]> {
  const { rows } = await client.query<BackedUpObject>(
    `SELECT blob_path AS key, content_type AS "contentType", checksum AS sha256 FROM document
     WHERE $1::text IS NULL OR tenant_id = $1 ORDER BY blob_path`,
    [tenantId],
  );
  return rows;
}

/** The names of the applied migrations. */
export async function describeMigrations(client: Connection): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL ORDER BY name',
  );
  return rows.map(({ name }) => name);
}

/** Dumps the database, counts its rows and lists its documents, all in one snapshot. */
async function dump(client: Connection, target: BackupStore, url: string, pgDump: Source['pgDump']) {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  const { rows: started } = await client.query<{ snapshot: string; at: Date }>(
    'SELECT pg_export_snapshot() AS snapshot, now() AS at',
  );
  const { rows, server } = await describeDatabase(client);
  const documents = await documentsOf(client, null);
  const migrations = await describeMigrations(client);
  const program = await pgDump(server);
  const file = `database-${randomUUID()}.dump`;
  const output = program.output(url, '--format=custom', `--snapshot=${started[0]?.snapshot}`);
  const sha256 = await target.write(file, output);
  await client.query('COMMIT');
  return {
    takenAt: started[0]?.at.toISOString() ?? '',
    postgres: { server, program: program.major },
    migrations,
    dump: { file, sha256 },
    rows,
    documents,
  };
}

/** Copies an object, unless the backup already has this content undamaged. */
export async function copy(store: ObjectStore, target: BackupStore, { key, sha256 }: BackedUpObject) {
  const file = backups.objectFile(sha256);
  if ((await backups.digestOf(target.read(file)).catch(() => null)) === sha256) return 'present';
  try {
    await target.write(file, store.read(key), (found) => {
      // A damaged object counts as missing, like one that the store cannot deliver.
      if (found !== sha256) throw new Problem('dependency_unavailable');
    });
    return 'copied';
  } catch (error) {
    // Rethrow other errors: they come from the backup's store, not from the service's.
    if (!(error instanceof Problem)) throw error;
    await store.check();
    return 'missing';
  }
}
