import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  hasNamesake,
  ofTenant,
  passNumbers,
  sharesClientId,
  tableWithRows,
  tenantTables,
  type TenantTable,
} from '../adapters/database/tenantTables.js';
import { withClient, type Connection } from '../adapters/database/withClient.js';
import type { ObjectStore } from '../adapters/objects/objectStore.js';
import { errorCode } from '../failures.js';
import { version } from '../packageRoot.js';
import { copy, describeMigrations, documentsOf, majorVersion } from './backup/backUp.js';
import type { BackupStore } from './backup/backupStore.js';
import * as backups from './backup/manifest.js';
import type { BackedUpObject, Manifest } from './backup/manifest.js';
import { putMissing } from './backup/restore.js';

interface Place {
  /** Address of the role that owns the schema. */
  readonly url: string;
  readonly store: ObjectStore;
  readonly storeName: string;
}

/** Maximum number of rows in a line of the rows' file. */
const BATCH = 100;
/** Maximum number of characters in a line. */
const MAX_LINE = 64 * 1024 * 1024;

/**
 * Writes a tenant's rows, except its audit, and documents, all as of one moment. A line of the rows' file has the name
 * of a table, a tab and a JSON array of rows. @returns the manifest
 */
export async function exportTenant(
  target: BackupStore,
  tenantId: string,
  { url, store, storeName }: Place,
): Promise<Manifest> {
  await store.check();
  await backups.assertBackupOf(target, databaseOf(tenantId));
  return withClient({ connectionString: url }, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const { rows: started } = await client.query<{ at: Date }>('SELECT now() AS at');
    const takenAt = started[0]?.at.toISOString() ?? '';
    const file = `database-${randomUUID()}.dump`;
    const rows: Record<string, number> = {};
    const dump = { file, sha256: await target.write(file, rowsOf(client, tenantId, rows)) };
    const [documents, migrations] = [await documentsOf(client, tenantId), await describeMigrations(client)];
    const server = await majorVersion(client);
    await client.query('COMMIT');
    const [objects, missing]: [BackedUpObject[], string[]] = [[], []];
    await backups.each(target, documents, async (object) => {
      if ((await copy(store, target, object)) === 'missing') missing.push(object.key);
      else objects.push(object);
    });
    const manifest: Manifest = {
      ...{ format: 1, version, tenant: tenantId, objectStore: storeName, database: databaseOf(tenantId), takenAt },
      ...{ postgres: { server, program: server }, migrations, dump, rows, objects, missing, keys: null },
    };
    await backups.writeManifest(target, manifest);
    return manifest;
  });
}

/** Names the export in its manifest, so that it replaces neither a backup nor another tenant's export. */
const databaseOf = (tenantId: string): string => `tenant ${tenantId}`;

/** The lines of a tenant's rows. @param counts gets the number of rows by table */
async function* rowsOf(client: Connection, tenantId: string, counts: Record<string, number>) {
  for (const table of await tenantTables(client)) {
    const { name, columns } = table;
    await client.query(`
      DECLARE exported NO SCROLL CURSOR FOR SELECT row_to_json(line)::text AS json
      FROM (SELECT ${columns} FROM ${name} WHERE ${ofTenant(table, tenantId)}) AS line`);
    for (counts[name] = 0; ;) {
      const { rows } = await client.query<{ json: string }>(`FETCH ${BATCH} FROM exported`);
      if (rows.length === 0) break;
      counts[name] += rows.length;
      yield Buffer.from(`${name}\t[${rows.map(({ json }) => json).join(',')}]\n`);
    }
    await client.query('CLOSE exported');
  }
}

/**
 * Adds an exported tenant, in one transaction, to a database that does not have it. The files may be hostile: PostgreSQL
 * gets their rows as values, never as statements, and every row and object must be the tenant's.
 */
export async function importTenant(
  from: BackupStore,
  manifest: Manifest,
  { url, store, storeName }: Place,
): Promise<void> {
  const { tenant = '', objectStore, migrations, objects, missing, dump, rows } = manifest;
  // The jobs of each database would delete documents that only the other one names.
  if (objectStore === storeName)
    throw new Error(
      'The tenant was exported from this object store, which two databases cannot share. Set the variables of the installation that imports it; if they are right, give its database and servers an S3_BUCKET or, in the file store, a DATA_DIR of their own, with copies of their documents. Then import again.',
    );
  await withClient({ connectionString: url }, async (client) => {
    assertSameSchema(await describeMigrations(client), migrations);
    const tables = await tenantTables(client);
    const filled = await tableWithRows(client, tables, tenant);
    if (filled) {
      const found = `The database already contains rows of tenant ${tenant}, in the table ${filled}.`;
      throw new Error(`${found} Import into a database without this tenant.`);
    }
    await client.query('BEGIN');
    await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    const counts = await insertRows(client, linesOf(from.read(dump.file)), tables, tenant);
    const wrong = tables.filter(({ name }) => (rows[name] ?? 0) !== (counts.get(name) ?? 0)).map(({ name }) => name);
    if (wrong.length > 0) refuse(`The rows in ${wrong.join(', ')} differ in number from the manifest.`);
    if (await hasNamesake(client, tenant)) refuse(`Another tenant has the name or id of ${tenant}.`, ELSEWHERE);
    if (await sharesClientId(client, tenant))
      refuse("Another tenant has the client_id of one of this tenant's API clients.", ELSEWHERE);
    // Deferred constraints must refuse before objects are stored and sequences are moved, which no rollback undoes.
    await client.query('SET CONSTRAINTS ALL IMMEDIATE').catch(refusedBy('the rows'));
    const documents = await documentsOf(client, tenant);
    const foreign = documents.find(({ key }) => !key.startsWith(`${tenant}/`));
    if (foreign) refuse(`The object key ${JSON.stringify(foreign.key)} is not the tenant's.`);
    const files = new Map(objects.map((object) => [object.key, object.sha256]));
    const present = documents.filter(({ key }) => !missing.includes(key));
    const without = present.find(({ key, sha256 }) => files.get(key) !== sha256);
    if (without) refuse(`The manifest lacks the document ${without.key}, or has another checksum of it.`);
    await passNumbers(client, tenant);
    const stored = await putAll(store, from, present);
    await client.query('COMMIT').catch(async (error: unknown) => {
      // If the connection broke after the commit, only the response is lost.
      if (await withClient({ connectionString: url }, (other) => tableWithRows(other, tables, tenant))) return;
      await removeAll(store, stored);
      throw error;
    });
  });
}

/** Removes documents after a failure: no row names them, and the job that removes orphans keeps those of unknown tenants. */
const removeAll = (store: ObjectStore, keys: readonly string[]) =>
  Promise.allSettled(keys.map((key) => store.remove(key)));

/** Stores the documents that the store lacks, all or none. @returns their keys */
async function putAll(store: ObjectStore, from: BackupStore, documents: readonly BackedUpObject[]): Promise<string[]> {
  const stored: string[] = [];
  const failures: unknown[] = [];
  await backups.each(from, documents, async (object) => {
    if (failures.length > 0) return;
    const isNew = await putMissing(store, from, object).catch((error: unknown) => void failures.push(error));
    if (isNew) stored.push(object.key);
  });
  if (failures.length === 0) return stored;
  await removeAll(store, stored);
  throw failures[0];
}

/** Compares the schemas of two databases. @throws Error naming migrations that only one of them has */
function assertSameSchema(ours: readonly string[], theirs: readonly string[]): void {
  const different = [...ours, ...theirs].filter((name) => !ours.includes(name) || !theirs.includes(name));
  if (different.length > 0) {
    throw new Error(
      `The schemas differ: run "ces migrate" of the later version on both databases, then export again (${different.join(', ')}).`,
    );
  }
}

const ELSEWHERE = 'Import into another database.';

function refuse(reason: string, remedy = 'Export the tenant again.'): never {
  throw new Error(`Nothing was imported: ${reason} ${remedy}`);
}

/** Reports PostgreSQL's error without its text, which may quote a row. */
const refusedBy = (rows: string) => (error: unknown) => {
  const code: unknown = errorCode(error) ?? 'none';
  return refuse(
    `PostgreSQL refuses ${rows}, or the connection broke (code ${String(code)}).`,
    'Import again, as the owner of the schema (DATABASE_OWNER_URL); if that fails, too, export the tenant again.',
  );
};

/** Inserts the rows of the lines into the columns that the schema names. @returns the number of rows by table */
async function insertRows(
  client: Connection,
  lines: AsyncIterable<string>,
  tables: readonly TenantTable[],
  tenantId: string,
) {
  const counts = new Map<string, number>();
  for await (const line of lines) {
    const [name = '', json] = line.split('\t', 2);
    // Never print a line without the name of a table: it may be a patient's row.
    if (!/^"?[a-z_]{1,63}"?$/.test(name)) refuse('A line of the rows does not begin with the name of a table.');
    const table = tables.find((each) => each.name === name) ?? refuse(`No table of tenants is named ${name}.`);
    const statement = `INSERT INTO ${name} (${table.columns}) SELECT ${table.columns}
      FROM json_populate_recordset(NULL::${name}, $1) RETURNING ${table.key} = $2 AS own`;
    const { rows } = await client
      .query<{ own: boolean }>(statement, [json, tenantId])
      .catch(refusedBy(`a row of ${name}`));
    if (!rows.every(({ own }) => own)) refuse(`A row of ${name} belongs to another tenant.`);
    counts.set(name, (counts.get(name) ?? 0) + rows.length);
  }
  return counts;
}

async function* linesOf(body: AsyncIterable<Uint8Array>) {
  let rest = '';
  for await (const text of Readable.from(body, { objectMode: false }).setEncoding('utf8')) {
    const lines = (rest + String(text)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE) refuse(`A line of the rows is longer than ${MAX_LINE} characters.`);
    yield* lines;
  }
  if (rest) refuse('The last line of the rows is incomplete.');
}
