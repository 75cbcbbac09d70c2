import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openS3Store } from '../../src/adapters/objects/s3Store.js';
import { openBackupStore } from '../../src/cli/backup/backupStore.js';
import { pgProgram } from '../../src/cli/backup/programs.js';
import { putMissing } from '../../src/cli/backup/restore.js';
import type { CliIo } from '../../src/cli/cliIo.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { runJson, runProgram } from '../cli/runProgram.js';
import { debianPrograms, hasDebianPostgres, startDebianPostgres } from '../support/debianPostgres.js';
import { newPartner, newPatient } from '../support/factories.js';
import { sampleFiles, startFileHost } from '../support/fileHost.js';
import { temporaryFolder } from '../support/folder.js';
import { startHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const folder = temporaryFolder();
let cluster: Awaited<ReturnType<typeof startDebianPostgres>>;
let environment: { readonly DATABASE_URL: string; readonly DATA_DIR: string; readonly PATH: string };

const backup = folder('backup');

async function write(file: string, content: string): Promise<void> {
  await mkdir(dirname(join(backup, file)), { recursive: true });
  await writeFile(join(backup, file), content);
}

async function filesOf(): Promise<string[]> {
  const entries = await readdir(backup, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

it.each([
  [15, '/etc/ssl/certs/ca-certificates.crt'],
  [16, 'system'],
])('pg_dump of PostgreSQL %i gets sslrootcert=%s with sslmode=verify-full', async (version, authorities) => {
  const script = `#!/bin/sh\n[ "$1" = --version ] && echo "pg_dump (PostgreSQL) ${version}.1" || echo "$2"\n`;
  await writeFile(folder('pg_dump'), script, { mode: 0o755 });
  const program = await pgProgram('pg_dump', version, { PATH: `${folder()}:${process.env['PATH']}` });
  const address = await text(program.output('postgresql://u@db.example/ces?sslmode=verify-full'));
  expect(new URL(address).searchParams.get('sslrootcert')).toBe(authorities);
  await rm(folder('pg_dump'));
});

it('a missing version of pg_dump is reported with each version found, once', async () => {
  await writeFile(folder('pg_dump'), '#!/bin/sh\necho "pg_dump (PostgreSQL) 9.1"\n', { mode: 0o755 });
  const finding = pgProgram('pg_dump', 99, { PATH: `${folder()}:${folder()}/` });
  await expect(finding).rejects.toThrow(/ of PostgreSQL 99 or later, and only 9(, 1\d)* was found\. /);
  await rm(folder('pg_dump'));
});

it('restore names the folder of the backup, not the object store, if a document cannot be read from the folder', async () => {
  const account = { bucket: 'b', region: 'us-east-1', accessKey: 'a', secretKey: 's', endpoint: 'http://127.0.0.1:9' };
  const store = await openS3Store({ ...account, spoolFolder: folder('spool') });
  const from = await openBackupStore({} as CliIo, backup);
  const restoring = putMissing(store, from, { key: 'a', contentType: 'image/png', sha256: 'a'.repeat(64) });
  await expect(restoring).rejects.toThrow(`${backup} cannot be used: ENOENT`);
});

(hasDebianPostgres() ? describe : describe.skip)('a backup in a folder', () => {
  beforeAll(async () => {
    cluster = await startDebianPostgres();
    await cluster.sql("CREATE ROLE tester SUPERUSER LOGIN PASSWORD 'secret'", 'CREATE DATABASE source');
    environment = {
      DATABASE_URL: `postgresql://tester:secret@127.0.0.1:${cluster.port}/source`,
      DATA_DIR: folder('source'),
      PATH: process.env['PATH'] ?? '',
    };
    const { DATABASE_URL: url, DATA_DIR } = environment;
    await migrateDatabase({ ownerUrl: url, url });
    const files = await startFileHost();
    const settings = { DATA_DIR, DOCUMENT_FETCH_ALLOWED_HOSTS: files.host };
    const harness = await startHarness({ databaseUrl: url, environment: settings });
    const partner = await newPartner(harness);
    for (const name of ['png', 'pdf'] as const) {
      const patientId = await newPatient(harness, partner);
      const json = { url: files.serve(`/a.${name}`, { content: sampleFiles[name] }) };
      const target = `POST /clients-documents/${patientId}/upload-url/id-card`;
      expect((await call(harness, target, { token: partner.token, json })).status).toBe(200);
    }
    await Promise.all([harness.close(), files.close()]);
  });
  afterAll(() => cluster.remove());

  const create = () => runJson(environment, 'backup', 'create', '--to', backup);
  const verify = async () => (await runProgram(environment, 'backup', 'verify', '--from', backup)).stderr;

  it('names each damaged and each missing file when it is verified, and the next backup replaces these files', async () => {
    expect(await create()).toMatchObject({ objects: 2, copied: 2, missing: [] });
    const files = (await filesOf()).flatMap((file) => /objects\/[\da-f]{64}$/.exec(file) ?? []);
    const [damaged = '', missing = ''] = files.sort();
    await write(damaged, 'damaged');
    await rm(join(backup, missing));
    const faults = await verify();
    expect(faults).toContain(`${damaged} is damaged.`);
    expect(faults).toContain(`${missing} is missing.`);
    expect(await create()).toMatchObject({ objects: 2, copied: 2 });
    expect(await verify()).toBe('');
  });

  it('replaces the previous backup and the remains of interrupted ones, but no foreign file', async () => {
    const others = ['database-notes.dump', 'objects/notes', `notes/database-${randomUUID()}.dump`];
    const remains = [`database-${randomUUID()}.dump`, `keys-${randomUUID()}.json`];
    for (const file of [...others, ...remains]) await write(file, 'mine');
    const before = (await filesOf()).length;
    expect(await create()).toMatchObject({ copied: 0 });
    const after = await filesOf();
    expect(after).toHaveLength(before - remains.length);
    for (const file of others) expect(after).toContainEqual(expect.stringMatching(new RegExp(`${file}$`)));
  });

  it('is made although the manifest of an earlier one is damaged, with a warning that names it', async () => {
    const damaged = 'manifest-2026-01-01T00.00.00.000Z.json';
    await write(damaged, '{');
    const made = await runProgram(environment, 'backup', 'create', '--to', backup, '--keep', '1d');
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining(`Warning: ${backup} keeps ${damaged}, `) });
    expect(await verify()).toBe('');
    await rm(join(backup, damaged));
  });

  it('remains intact when the pg_dump of the next backup fails halfway', async () => {
    const programs = folder('broken');
    await mkdir(programs);
    const version = `[ "$1" = --version ] && exec ${debianPrograms}/pg_dump --version`;
    const script = `#!/bin/sh\n${version}\necho half\necho "pg_dump: error: gone" >&2\nexit 1\n`;
    await writeFile(`${programs}/pg_dump`, script, { mode: 0o755 });
    const before = await filesOf();
    const failing = { ...environment, PATH: `${programs}:${environment.PATH}` };
    const failed = await runProgram(failing, 'backup', 'create', '--to', backup);
    expect(failed).toMatchObject({
      code: 1,
      stderr: 'pg_dump failed: pg_dump: error: gone. Correct the cause, then repeat the command.\n',
    });
    expect(await filesOf()).toEqual(before);
    expect(await verify()).toBe('');
  });
});
