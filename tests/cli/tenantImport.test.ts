import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { tenantTables } from '../../src/adapters/database/tenantTables.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import { openFileStore } from '../../src/adapters/objects/fileStore.js';
import { openBackupStore } from '../../src/cli/backup/backupStore.js';
import { readManifest } from '../../src/cli/backup/manifest.js';
import type { CliIo } from '../../src/cli/cliIo.js';
import { importTenant } from '../../src/cli/tenantFile.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { verifyAudit } from '../../src/domain/audit/verify.js';
import { cast } from '../support/cast.js';
import { newPartner } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { createEmptyDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { newSandbox } from '../support/sandbox.js';
import { openOperator, refusal, type Operator } from './operator.js';
import { runProgram } from './runProgram.js';

const folder = temporaryFolder();
const SENTINEL = folder('sentinel');
let source: Operator;
let target: TestDatabase;
let there: Harness;
let tenant: string;
/** A tenant of the target database, whose data hostile files try to reach. */
let victim: { readonly tenantId: string; readonly clientId: string };

beforeAll(async () => {
  [source, target] = [await openOperator(), await openTestDatabase()];
  there = await startHarness({ databaseUrl: target.url });
  afterAll(() => there.close());
  victim = await newPartner(there);
  const sandbox = await newSandbox(source.harness);
  tenant = sandbox.tenantId;
  const json = { url: 'https://files.northwind.example/forms/jane.pdf' };
  const upload = `POST /clients-documents/${cast.jane.id}/upload-url/intake-forms`;
  expect((await call(source.harness, upload, { token: sandbox.token, json })).status).toBe(200);
  expect(await source.run('tenant', 'export', tenant, '--to', folder('export'))).toMatchObject({ code: 0 });
});

const importFrom = (name: string) =>
  runProgram(
    { DATABASE_URL: target.url, DATA_DIR: there.dataDir, USER: 'alice' },
    'tenant',
    'import',
    '--from',
    folder(name),
  );

/** The target's sequences, the names of its objects, and all rows except the audit's. */
async function contents(): Promise<unknown> {
  const tables = await rowsOf(
    target.url,
    `
    SELECT relname AS name, query_to_xml(format('SELECT * FROM %I ORDER BY 1, 2', relname), true, true, '')::text AS rows
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'audit%'`,
  );
  const sequences = await rowsOf(
    target.url,
    `SELECT sequencename, last_value FROM pg_sequences WHERE sequencename NOT LIKE 'audit%'`,
  );
  return [tables, sequences, await readdir(`${there.dataDir}/documents`, { recursive: true })];
}

interface Files {
  /** The manifest, to be changed in place. */
  readonly manifest: any;
  /** The file of rows. The manifest gets its digest, unless the case changes the digest. */
  rows: string | Buffer;
}

/** Replaces the first match in the rows; fails if there is none, so that each case is what its name says. */
const replace = (files: Files, pattern: RegExp, by: string): void => {
  expect(String(files.rows)).toMatch(pattern);
  files.rows = String(files.rows).replace(pattern, by);
};
const addLine = (files: Files, line: string): void => void (files.rows = `${String(files.rows)}${line}\n`);
/** Adds a changed copy of the table's first row, and counts it in the manifest. */
const addRow = (files: Files, table: string, changes: object): void => {
  const [, json = '[]'] = new RegExp(`^${table}\t(.*)$`, 'm').exec(String(files.rows)) ?? [];
  addLine(files, `${table}\t${JSON.stringify([{ ...JSON.parse(json)[0], ...changes }])}`);
  files.manifest.rows[table] = Number(files.manifest.rows[table]) + 1;
};

/** A refusal that does not quote the line. */
const NO_NAME =
  /^Nothing was imported: A line of the rows does not begin with the name of a table\. Export the tenant again\.\n$/;

const hostile: [name: string, message: RegExp, change: (files: Files) => unknown][] = [
  ['a shell command of psql', NO_NAME, (files) => addLine(files, `\\! touch ${SENTINEL}`)],
  ['a COPY from a program', NO_NAME, (files) => addLine(files, `COPY client FROM PROGRAM 'touch ${SENTINEL}';`)],
  ['a statement', NO_NAME, (files) => addLine(files, 'DROP TABLE client;')],
  ['a statement behind the name of a table', NO_NAME, (files) => addLine(files, 'client; DROP TABLE client\t[]')],
  [
    'a statement in place of rows',
    /PostgreSQL refuses/,
    (files) => addLine(files, "client\t'); DROP TABLE client; --"),
  ],
  ['a row without the name of its table', NO_NAME, (files) => replace(files, /^client\t/m, '')],
  ['a row of audit_event', /No table/, (files) => addLine(files, 'audit_event\t[{}]')],
  ['a row of _prisma_migrations', /No table/, (files) => addLine(files, '_prisma_migrations\t[{}]')],
  ['a row of job_run', /No table/, (files) => addLine(files, 'job_run\t[{}]')],
  [
    "another tenant's client",
    /belongs to another tenant/,
    (files) => addRow(files, 'api_client', { id: randomId(), client_id: 'x', tenant_id: victim.tenantId }),
  ],
  ['another tenant', /to another tenant/, (files) => addRow(files, 'tenant', { id: 'intruder', name: 'Intruder' })],
  [
    'a row without a tenant',
    /PostgreSQL refuses/,
    (files) => addRow(files, 'clinic', { id: randomId(), tenant_id: null }),
  ],
  [
    "a client's public id that is another tenant's",
    /Another tenant has the client_id/,
    (files) => addRow(files, 'api_client', { id: randomId(), name: 'Namesake', client_id: victim.clientId }),
  ],
  [
    'a name that is the id of another tenant',
    /Another tenant has the name/,
    (files) => replace(files, /"name":"Sandbox \d+"/, `"name":"${victim.tenantId}"`),
  ],
  [
    "a document whose object is another tenant's",
    /The object key/,
    (files) => replace(files, /"blob_path":"[^/]+/, `"blob_path":"${victim.tenantId}`),
  ],
  ['a document whose object the manifest lacks', /lacks the document/, ({ manifest }) => (manifest.objects = [])],
  [
    'a document with a key that leads elsewhere',
    /lacks the document/,
    (files) => replace(files, /"blob_path":"/, `"blob_path":"${tenant}/../${victim.tenantId}/`),
  ],
  [
    'an encounter number above the limit',
    /above the limit of 1000000000000/,
    (files) => replace(files, /"encounter_no":\d+/, '"encounter_no":9000000000000000000'),
  ],
  [
    'a row that breaks a constraint',
    /PostgreSQL refuses/,
    (files) => replace(files, /"size_bytes":\d+/, '"size_bytes":0'),
  ],
  ['an array in place of a row', /PostgreSQL refuses/, (files) => addLine(files, 'clinic\t[[1]]')],
  ['a row with U+0000', /PostgreSQL refuses/, (files) => replace(files, /"display_name":"|"name":"/, '$&\\u0000')],
  ['JSON that is too deep', /PostgreSQL refuses/, (files) => addLine(files, `clinic\t${'['.repeat(100_000)}`)],
  ['a compressed file', NO_NAME, (files) => (files.rows = Buffer.concat([gzipSync(files.rows), Buffer.from('\n')]))],
  ['a file that ends within a line', /last line/, (files) => (files.rows = String(files.rows).slice(0, -5))],
  ['rows that the manifest does not count', /differ in number/, ({ manifest }) => (manifest.rows = {})],
  ['rows whose digest differs', /is damaged/, ({ manifest }) => (manifest.dump.sha256 = '0'.repeat(64))],
  ['rows in a file elsewhere', /manifest.json in/, ({ manifest }) => (manifest.dump.file = '../../etc/passwd')],
  ['an object in a file elsewhere', /manifest.json in/, ({ manifest }) => (manifest.objects[0].sha256 = '../manifest')],
  ['an object that is missing', /is missing/, ({ manifest }) => (manifest.objects[0].sha256 = '0'.repeat(64))],
  ['an id of a tenant that leads elsewhere', /manifest.json in/, ({ manifest }) => (manifest.tenant = '../etc')],
  [
    'the id of a tenant that the database has',
    /already contains rows/,
    ({ manifest }) => (manifest.tenant = victim.tenantId),
  ],
  ['another format', /of another build/, ({ manifest }) => (manifest.format = 2)],
  ['other migrations', /The schemas differ/, ({ manifest }) => manifest.migrations.push('20990101000000_later')],
  ['a manifest without objects', /manifest.json in/, ({ manifest }) => (manifest.objects = null)],
];

const randomId = (): string => crypto.randomUUID();

it.each(hostile)('tenant import refuses %s and changes nothing', async (_name, message, change) => {
  await cp(folder('export'), folder('hostile'), { recursive: true });
  const manifest = JSON.parse(await readFile(folder('hostile', 'manifest.json'), 'utf8'));
  const file = folder('hostile', manifest.dump.file);
  const files: Files = { manifest, rows: await readFile(file, 'utf8') };
  const { sha256 } = manifest.dump;
  change(files);
  await writeFile(file, files.rows);
  if (manifest.dump.sha256 === sha256) manifest.dump.sha256 = createHash('sha256').update(files.rows).digest('hex');
  await writeFile(folder('hostile', 'manifest.json'), JSON.stringify(manifest));
  const before = await contents();
  expect(await importFrom('hostile')).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(message) });
  expect(await contents()).toEqual(before);
  expect(await readdir(folder())).not.toContain('sentinel');
  await rm(folder('hostile'), { recursive: true });
});

it('tenant import by a role without the rights asks for DATABASE_OWNER_URL, and on an empty database for a migration', async () => {
  const empty = await createEmptyDatabase();
  const importAs = (url: string) =>
    runProgram({ DATABASE_URL: url, DATA_DIR: there.dataDir }, 'tenant', 'import', '--from', folder('export'));
  const [byService, unmigrated] = [await importAs(target.serviceUrl), await importAs(empty.url)];
  await empty.drop();
  const denied =
    /^permission denied for sequence \w+\. Set DATABASE_OWNER_URL, with the role that owns the schema public and all tables\. If the error remains, run "ces migrate" \(not before a restore\), or grant the rights that the role lacks\.\n$/;
  expect(byService).toEqual(refusal(1, denied));
  expect(unmigrated).toEqual(
    refusal(1, /^relation "_prisma_migrations" does not exist\. .*; if they are right, run "ces migrate"\.\n$/),
  );
});

it('tenant import removes the documents that it has stored, if it cannot store one', async () => {
  const { objects } = JSON.parse(await readFile(folder('export/manifest.json'), 'utf8')) as {
    objects: { key: string }[];
  };
  const last = objects.at(-1)?.key ?? '';
  // A folder in place of the last document's file, so that storing that document fails.
  const obstacle = `${there.dataDir}/documents/${last}`;
  await mkdir(obstacle, { recursive: true });
  expect(await importFrom('export')).toMatchObject({ code: 1 });
  await rm(obstacle, { recursive: true });
  const left = await readdir(`${there.dataDir}/documents/${tenant}`, { recursive: true, withFileTypes: true });
  expect(left.filter((entry) => entry.isFile())).toEqual([]);
  expect(objects.length).toBeGreaterThan(1);
});

it('tenant import removes the documents that it has stored, if it cannot commit', async () => {
  const from = await openBackupStore({ environment: {} } as CliIo, folder('export'));
  const store = await openFileStore(folder('documents'), undefined);
  /** Stores an object, and then ends the connection of the import. */
  const put: typeof store.put = async (...object) => {
    await store.put(...object);
    await rowsOf(
      target.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'idle in transaction'`,
    );
  };
  const place = { url: target.url, store: { ...store, put }, storeName: 'another' };
  await expect(importTenant(from, await readManifest(from, true), place)).rejects.toThrow();
  const left = await readdir(folder('documents'), { recursive: true, withFileTypes: true });
  expect(left.filter((entry) => entry.isFile())).toEqual([]);
});

it('tenant import adds each row and document of an export, and moves the sequence of encounters past its numbers', async () => {
  expect(await importFrom('export')).toMatchObject({ code: 0, stderr: '' });
  const tables = await withClient({ connectionString: target.url }, tenantTables);
  for (const { name, key } of tables) {
    const rows = `SELECT to_jsonb(own) AS row FROM ${name} AS own WHERE ${key} = '${tenant}' ORDER BY 1`;
    expect(await rowsOf(target.url, rows)).toEqual(await rowsOf(source.database.url, rows));
  }
  const objects = (dataDir: string) => readdir(`${dataDir}/documents/${tenant}`, { recursive: true });
  expect(await objects(there.dataDir)).toEqual(await objects(source.harness.dataDir));
  await addCheckpoints(there.domain);
  expect(await verifyAudit(there.domain)).toMatchObject({ fault: null });
  const [{ isPast }] = (await rowsOf(
    target.url,
    `
    SELECT nextval('encounter_encounter_no_seq') > max(encounter_no) AS "isPast" FROM encounter`,
  )) as [any];
  expect(isPast).toBe(true);
});
