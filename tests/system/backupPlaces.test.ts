import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openS3Store } from '../../src/adapters/objects/s3Store.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { runJson, runProgram } from '../cli/runProgram.js';
import { debianPrograms, hasDebianPostgres, startDebianPostgres } from '../support/debianPostgres.js';
import { pg, tablesOf } from '../support/dumps.js';
import { newPartner, newPatient } from '../support/factories.js';
import { sampleFiles, startFileHost } from '../support/fileHost.js';
import { temporaryFolder } from '../support/folder.js';
import { startHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { bodyOf, filesBelow } from '../support/objectStores.js';
import { hasS3Server, startS3Server, type S3Server } from '../support/s3.js';

const folder = temporaryFolder();
const usable = hasDebianPostgres() && hasS3Server();
let cluster: Awaited<ReturnType<typeof startDebianPostgres>>;
let s3: S3Server;
let bucket: Awaited<ReturnType<typeof openS3Store>>;

const environmentOf = (database: string) => ({
  DATABASE_URL: `postgresql://tester:secret@127.0.0.1:${cluster.port}/${database}`,
  DATA_DIR: folder(database),
  PATH: process.env['PATH'] ?? '',
  BACKUP_S3_ENDPOINT: s3.account.endpoint,
  BACKUP_S3_ACCESS_KEY: s3.account.accessKey,
  BACKUP_S3_SECRET_KEY: s3.account.secretKey,
});

/** The places of a backup, each with files of others in it. */
const places = {
  folder: {
    address: () => folder('backup'),
    async write(file: string, content: string) {
      await mkdir(dirname(folder('backup', file)), { recursive: true });
      await writeFile(folder('backup', file), content);
    },
    remove: (file: string) => rm(folder('backup', file)),
    async files() {
      const entries = await readdir(folder('backup'), { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    },
  },
  bucket: {
    address: () => `s3://${s3.account.bucket}/backups/ces`,
    write: (file: string, content: string) => bucket.put(`backups/ces/${file}`, bodyOf(content), 'text/plain'),
    remove: (file: string) => bucket.remove(`backups/ces/${file}`),
    files: () => s3.keys(),
  },
};

(usable ? describe : describe.skip)('a backup', () => {
  beforeAll(async () => {
    [cluster, s3] = await Promise.all([startDebianPostgres(), startS3Server()]);
    bucket = await openS3Store({ ...s3.account, spoolFolder: folder('spool') });
    const statements = [
      "CREATE ROLE tester SUPERUSER LOGIN PASSWORD 'secret'",
      ...['source', 'folder', 'bucket'].map((name) => `CREATE DATABASE ${name}`),
    ];
    const { PGHOST, PGPORT, PGUSER } = cluster.superuser;
    const place = ['-h', PGHOST, '-p', PGPORT, '-U', PGUSER];
    await pg('psql', ...place, ...statements.flatMap((statement) => ['-c', statement]));
    const { DATABASE_URL: url, DATA_DIR } = environmentOf('source');
    await migrateDatabase({ ownerUrl: url, url });
    const files = await startFileHost();
    const environment = { DATA_DIR, DOCUMENT_FETCH_ALLOWED_HOSTS: files.host };
    const harness = await startHarness({ databaseUrl: url, environment });
    const partner = await newPartner(harness);
    for (const name of ['png', 'pdf'] as const) {
      const patientId = await newPatient(harness, partner);
      const json = { url: files.serve(`/a.${name}`, { content: sampleFiles[name] }) };
      const target = `POST /clients-documents/${patientId}/upload-url/id-card`;
      expect((await call(harness, target, { token: partner.token, json })).status).toBe(200);
    }
    await Promise.all([harness.close(), files.close()]);
  }, 60_000);
  afterAll(async () => {
    await s3.close();
    await cluster.remove();
  });

  const source = (...args: string[]) => runProgram(environmentOf('source'), ...args);

  describe.each(['folder', 'bucket'] as const)('in a %s', (name) => {
    const place = places[name];
    const create = () => runJson(environmentOf('source'), 'backup', 'create', '--to', place.address());
    const verify = async () => (await source('backup', 'verify', '--from', place.address())).stderr;

    it('is restored into an empty database with identical tables and documents', async () => {
      expect(await create()).toMatchObject({ objects: 2, copied: 2, missing: [] });
      const restored = await runJson(environmentOf(name), 'restore', '--from', place.address());
      expect(restored).toMatchObject({ objects: 2, stored: 2 });
      const [before, after] = await Promise.all(
        ['source', name].map(async (database) =>
          tablesOf(await pg('pg_dump', '--data-only', environmentOf(database).DATABASE_URL)),
        ),
      );
      // The restore skips positions; both commands are audited.
      for (const table of ['event_counter', 'webhook_cursor', 'audit_event', 'audit_counter']) {
        expect(before?.delete(`public.${table}`)).toBe(true);
        after?.delete(`public.${table}`);
      }
      expect(after).toEqual(before);
      const documents = (database: string) => filesBelow(folder(database, 'documents'));
      expect(await documents(name)).toEqual(await documents('source'));
    });

    it('names each damaged and each missing file when it is verified, and the next one replaces them', async () => {
      const files = (await place.files()).flatMap((file) => /objects\/[\da-f]{64}$/.exec(file) ?? []);
      const [damaged = '', missing = ''] = files.sort();
      await place.write(damaged, 'damaged');
      await place.remove(missing);
      const faults = await verify();
      expect(faults).toContain(`${damaged} is damaged.`);
      expect(faults).toContain(`${missing} is missing.`);
      expect(await create()).toMatchObject({ objects: 2, copied: 2 });
      expect(await verify()).toBe('');
    });

    it('replaces the previous backup and the remains of interrupted ones, but no foreign file', async () => {
      const others = ['database-notes.dump', 'objects/notes', `notes/database-${randomUUID()}.dump`];
      const remains = [`database-${randomUUID()}.dump`, `keys-${randomUUID()}.json`];
      for (const file of [...others, ...remains]) await place.write(file, 'mine');
      const before = (await place.files()).length;
      expect(await create()).toMatchObject({ copied: 0 });
      const after = await place.files();
      expect(after).toHaveLength(before - remains.length);
      for (const file of others) expect(after).toContainEqual(expect.stringMatching(new RegExp(`${file}$`)));
    });

    it('remains intact when the pg_dump of the next backup fails halfway', async () => {
      const programs = folder(`broken-${name}`);
      await mkdir(programs);
      const version = `[ "$1" = --version ] && exec ${debianPrograms}/pg_dump --version`;
      const script = `#!/bin/sh\n${version}\necho half\necho "pg_dump: error: gone" >&2\nexit 1\n`;
      await writeFile(`${programs}/pg_dump`, script, { mode: 0o755 });
      const before = await place.files();
      const environment = { ...environmentOf('source'), PATH: `${programs}:${process.env['PATH']}` };
      const failed = await runProgram(environment, 'backup', 'create', '--to', place.address());
      expect(failed).toMatchObject({ code: 1, stderr: 'pg_dump failed: pg_dump: error: gone\n' });
      expect(await place.files()).toEqual(before);
      expect(await verify()).toBe('');
    });
  });

  it.each([
    [
      'BACKUP_S3_SECRET_KEY',
      'wrong',
      's3://documents/x',
      'BACKUP_S3_SECRET_KEY is not the secret of BACKUP_S3_ACCESS_KEY',
    ],
    ['BACKUP_S3_ENDPOINT', '', 's3://documents/x', 'needs BACKUP_S3_ENDPOINT'],
    ['BACKUP_S3_REGION', 'us-east-1', 's3://nowhere/x', 'the bucket nowhere does not exist'],
    ['BACKUP_S3_REGION', 'us-east-1', 's3:documents', 'must be s3://bucket'],
  ])('a backup command refuses %s=%s for %s', async (variable, value, to, message) => {
    const { stderr } = await runProgram(
      { ...environmentOf('source'), [variable]: value },
      'backup',
      'create',
      '--to',
      to,
    );
    expect(stderr).toContain(message);
    expect(stderr).toContain(to);
  });

  it('the backup uses the S3 credentials of the documents if it has no others', async () => {
    const {
      BACKUP_S3_ENDPOINT: _e,
      BACKUP_S3_ACCESS_KEY: _a,
      BACKUP_S3_SECRET_KEY: _s,
      ...rest
    } = environmentOf('source');
    const verified = await runProgram(
      { ...rest, ...s3.environment },
      'backup',
      'verify',
      '--from',
      places.bucket.address(),
    );
    expect(verified).toMatchObject({ code: 0, stderr: '' });
  });
});
