import { randomUUID } from 'node:crypto';
import { entryOf } from '../../adapters/cells/places.js';
import { ofTenant, tableWithRows, tenantTables, type TenantTable } from '../../adapters/cells/tenantTables.js';
import { withClient, type Connection } from '../../adapters/database/withClient.js';
import type { ObjectStore } from '../../adapters/objects/objectStore.js';
import { version } from '../../packageRoot.js';
import { copy, describeMigrations, documentsOf } from '../backup/backUp.js';
import type { BackupStore } from '../backup/backupStore.js';
import * as backups from '../backup/manifest.js';
import type { BackedUpObject, Manifest } from '../backup/manifest.js';
import type { PgProgram } from '../backup/programs.js';
import { putMissing } from '../backup/restore.js';
import { assertSameSchema } from './movable.js';

interface Place {
  /** Address of the role that owns the schema. */
  readonly url: string;
  readonly store: ObjectStore;
  readonly storeName: string;
  readonly psql: PgProgram;
}

const RUN = ['--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1'];

/** Writes a tenant's rows, as a script for psql, and its documents, all as of one moment. @returns the manifest */
export async function exportTenant(
  target: BackupStore,
  tenantId: string,
  { url, store, storeName, psql }: Place,
): Promise<Manifest> {
  await store.check();
  await backups.assertBackupOf(target, databaseOf(tenantId));
  return withClient({ connectionString: url }, async (client) => {
    await assertNotElsewhere(client, tenantId);
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const { rows: started } = await client.query<{ snapshot: string; at: Date; server: number }>(
      `SELECT pg_export_snapshot() AS snapshot, now() AS at, current_setting('server_version_num')::int / 10000 AS server`,
    );
    const [{ snapshot, at, server } = { snapshot: '', at: new Date(0), server: 0 }] = started;
    const tables = await tenantTables(client);
    const file = `database-${randomUUID()}.dump`;
    const commands = [
      'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
      `SET TRANSACTION SNAPSHOT '${snapshot}'`,
      ...tables.flatMap((table) => copyOf(table, tenantId)),
      ...(await endOf(client)),
    ];
    const script = psql.output(url, ...RUN, ...commands.flatMap((command) => ['--command', command]));
    const dump = { file, sha256: await target.write(file, script) };
    const rows = await countsOf(client, tables, tenantId);
    const [documents, migrations] = [await documentsOf(client, tenantId), await describeMigrations(client)];
    await client.query('COMMIT');
    const [objects, missing]: [BackedUpObject[], string[]] = [[], []];
    await backups.each(documents, async (object) => {
      if ((await copy(store, target, object)) === 'missing') missing.push(object.key);
      else objects.push(object);
    });
    const manifest: Manifest = {
      ...{
        format: 1,
        version,
        tenant: tenantId,
        objectStore: storeName,
        database: databaseOf(tenantId),
        takenAt: at.toISOString(),
        keys: null,
      },
      ...{ postgres: { server, program: psql.major }, migrations, dump, rows, objects, missing },
    };
    await backups.writeManifest(target, manifest);
    return manifest;
  });
}

/** @throws Error if the tenant lives in or moves to another cell: rows here are, or would be, a second copy */
async function assertNotElsewhere(client: Connection, tenantId: string): Promise<void> {
  const { place = 'here', cell } = (await entryOf(client, tenantId)) ?? {};
  if (place === 'away')
    throw new Error(`${tenantId} lives in the cell ${cell}: use the command there, or move it back.`);
  if (place !== 'here')
    throw new Error(`A move of ${tenantId} is in progress. Complete it, or cancel it with "tenant move --cancel".`);
}

/** Names the export in its manifest, so that it replaces neither a backup nor another tenant's export. */
const databaseOf = (tenantId: string): string => `tenant ${tenantId}`;

const copyOf = (table: TenantTable, tenantId: string): string[] => [
  `\\echo COPY ${table.name} (${table.columns}) FROM stdin;`,
  `COPY (SELECT ${table.columns} FROM ${table.name} WHERE ${ofTenant(table, tenantId)}) TO STDOUT`,
  // Quote the text, because psql would take two backslashes as the end of the command.
  `\\echo '\\\\.'`,
];

/** Statements that follow the rows: move sequences past the numbers. */
async function endOf(client: Connection): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(
    `SELECT format('SELECT setval(%L, %s) FROM %I WHERE last_value < %s;', sequencename, last_value + 1000, sequencename, last_value + 1000)
       AS statement
     FROM pg_sequences WHERE schemaname = 'public' AND last_value IS NOT NULL`,
  );
  return rows.map(({ statement }) => `\\echo '${statement.replaceAll("'", "''")}'`);
}

async function countsOf(client: Connection, tables: readonly TenantTable[], tenantId: string) {
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${table.name} WHERE ${ofTenant(table, tenantId)}`,
    );
    counts[table.name] = rows[0]?.count ?? 0;
  }
  return counts;
}

/** Adds an exported tenant to a database that does not have it, in one transaction after the documents. */
export async function importTenant(
  from: BackupStore,
  manifest: Manifest,
  { url, store, storeName, psql }: Place,
): Promise<void> {
  const { tenant = '', objectStore, migrations, objects, dump, rows } = manifest;
  // The jobs of each database would delete documents that only the other one names.
  if (objectStore === storeName) throw new Error('Both databases use one object store: use "tenant move" instead.');
  await withClient({ connectionString: url }, async (client) => {
    await assertNotElsewhere(client, tenant);
    assertSameSchema(await describeMigrations(client), migrations);
    const tables = await tenantTables(client);
    const filled = await tableWithRows(client, tables, tenant);
    if (filled) {
      const found = `The database already contains rows of tenant ${tenant}, in the table ${filled}.`;
      throw new Error(`${found} Import into a database without this tenant.`);
    }
    await backups.each(objects, (object) => putMissing(store, from, object));
    await psql.feed(from.read(dump.file), url, ...RUN, '--single-transaction', '--file=-');
    const counts = await countsOf(client, tables, tenant);
    const wrong = Object.keys(rows).filter((name) => rows[name] !== counts[name]);
    if (wrong.length > 0)
      throw new Error(
        `The rows in ${wrong.join(', ')} differ in number from the manifest. Deactivate the tenant, and compare them.`,
      );
  });
}
