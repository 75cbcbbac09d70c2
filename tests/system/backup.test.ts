import { execFile } from 'node:child_process';
import { appendFile, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { makeDeliveries } from '../../src/domain/webhooks/fanOut.js';
import { packageRoot } from '../../src/packageRoot.js';
import { runJson, runProgram } from '../cli/runProgram.js';
import { hasDebianPostgres, startDebianPostgres } from '../support/debianPostgres.js';
import { pg, tablesOf } from '../support/dumps.js';
import { feedPage, recordPaid } from '../support/events.js';
import { newEncounter, newPartner, newPatient, newToken, patientBody, type Partner } from '../support/factories.js';
import { sampleFiles, startFileHost, type FileHost } from '../support/fileHost.js';
import { temporaryFolder } from '../support/folder.js';
import { commandsOf } from '../support/handbook.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { completedEncounter } from '../support/reviews.js';
import { hasS3Server, startS3Server } from '../support/s3.js';
import { filesBelow } from '../support/objectStores.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { newEndpoint } from '../support/webhooks.js';

const folder = temporaryFolder();
const cwd = fileURLToPath(packageRoot);
const BACKUP = 'backup';

let cluster: Awaited<ReturnType<typeof startDebianPostgres>>;
let files: FileHost;
let source: Harness;
let restored: Harness;
let partner: Partner;

const urlOf = (role: string, database: string): string =>
  `postgresql://ces_${role}:${role}-secret@127.0.0.1:${cluster.port}/${database}`;
const environmentOf = (database: string, dataDir: string) => ({
  DATABASE_URL: urlOf('service', database),
  DATABASE_OWNER_URL: urlOf('owner', database),
  DATA_DIR: folder(dataDir),
  ERASURE_JOURNAL: folder('erasures.ndjson'),
  BACKUP_PASSPHRASE: 'a long passphrase, kept apart from the backup',
  PATH: process.env['PATH'] ?? '',
});

/** Runs commands of the handbook, on the test's server and folder. */
async function shell(commands: string, dataDir: string): Promise<void> {
  const script = commands.replaceAll(':5432/', `:${cluster.port}/`).replaceAll('/secure/', `${folder()}/`);
  const env = { PATH: `${cwd}scripts:${process.env['PATH']}`, DATA_DIR: folder(dataDir), ...cluster.superuser };
  await promisify(execFile)('bash', ['-c', `set -e\n${script}`], { cwd, env });
}

const serviceOn = (database: string, dataDir: string): Promise<Harness> => {
  const environment = { DATA_DIR: folder(dataDir), DOCUMENT_FETCH_ALLOWED_HOSTS: files.host };
  return startHarness({ databaseUrl: urlOf('service', database), environment });
};

async function upload(patientId: string): Promise<Answer['body']> {
  const json = { url: files.serve(`/${patientId}.png`, { content: sampleFiles.png }) };
  const target = `POST /clients-documents/${patientId}/upload-url/id-card`;
  const { body } = await call(source, target, { token: partner.token, json });
  return body;
}

(hasDebianPostgres() ? describe : describe.skip)('a backup that is taken while requests write', () => {
  const seen = {} as Record<'first' | 'end' | 'lost', string>;
  let erasedId: string;
  let encounter: Answer['body'];
  let lostEncounter: Answer['body'];
  let document: Answer['body'];
  let endpointId: string;
  let dumped: Map<string, string[]>;
  let present: Map<string, string[]>;
  let writes: { before: number; after: number };

  beforeAll(async () => {
    [cluster, files] = await Promise.all([startDebianPostgres(), startFileHost()]);
    await shell((await commandsOf('database.md')).join('\n'), 'source');
    source = await serviceOn('ces', 'source');
    partner = await newPartner(source);
    const { tenantId } = partner;
    encounter = await completedEncounter(source, partner);
    const patients = [await newPatient(source, partner), await newPatient(source, partner)];
    [document] = await Promise.all(patients.map(upload));
    erasedId = patients[1] ?? '';
    endpointId = (await newEndpoint(source, partner)).id;
    while (await makeDeliveries(source.services));
    await addCheckpoints(source.domain);
    seen.first = (await feedPage(source, partner, { limit: 1 })).next_cursor;
    seen.end = (await feedPage(source, partner, { limit: 100 })).next_cursor;

    const [backingUp = '', restoring = ''] = await commandsOf('backup.md');
    writes = await whileWriting(() => shell(backingUp, 'source'));
    await recordPaid(source, { tenantId, clinicId: null }, 'ORD-101000', 3);
    lostEncounter = await newEncounter(source, partner);
    seen.lost = (await feedPage(source, partner, { limit: 100 })).next_cursor;
    const early = ['--before-retention', '--reason', 'test'];
    const erasing = ['patient', 'erase', erasedId, '--tenant', tenantId, '--yes', ...early];
    expect((await runProgram(environmentOf('ces', 'source'), ...erasing)).stderr).toBe('');
    const unknown = { tenantId, patientId: source.domain.newId(), erasedAt: '' };
    await appendFile(folder('erasures.ndjson'), `${JSON.stringify(unknown)}\n`);

    await shell(restoring, 'restored');
    const manifest = JSON.parse(await readFile(folder(BACKUP, 'manifest.json'), 'utf8'));
    const sql = await pg('pg_restore', '--data-only', '--file=-', folder(BACKUP, manifest.dump.file));
    [dumped, present] = [sql, await pg('pg_dump', '--data-only', urlOf('owner', 'ces_restored'))].map(tablesOf) as [
      ...[typeof dumped, typeof dumped],
    ];
    restored = await serviceOn('ces_restored', 'restored');
    partner = { ...partner, token: await newToken(restored, partner) };
  });
  afterAll(async () => {
    await killServers();
    for (const part of [source, restored, files] as ({ close(): Promise<void> } | undefined)[]) await part?.close();
    await cluster.remove();
  });

  /** Creates patients of another tenant until the work has ended; returns how many there were before and after. */
  async function whileWriting(work: () => Promise<void>): Promise<typeof writes> {
    const other = await newPartner(source);
    const count = async (): Promise<number> => {
      const sql = `SELECT count(*)::int AS n FROM client WHERE tenant_id = '${other.tenantId}'`;
      return Number((await rowsOf(urlOf('owner', 'ces'), sql))[0]?.['n']);
    };
    const create = () => call(source, 'POST /clients', { token: other.token, json: patientBody() });
    await create();
    const before = await count();
    const ended = new AbortController();
    const working = work().finally(() => ended.abort());
    // A steady load: a full one would take the CPU from the backup.
    while (!ended.signal.aborted) await Promise.all([create(), delay(50)]);
    await working;
    return { before, after: await count() };
  }

  it('restores every row, except counters and the rows of a patient that was erased later', () => {
    const counters = ['public.event_counter', 'public.webhook_cursor', 'public.audit_counter'];
    const changed = [...counters, 'public.audit_event'];
    const rowsIn = (tables: Map<string, string[]>) =>
      [...tables].map(([name, rows]) => [name, rows.filter((row) => !row.includes(erasedId))] as const);
    const [before, after] = [new Map(rowsIn(dumped)), new Map(rowsIn(present))];
    for (const [name, rows] of before) {
      if (!changed.includes(name)) expect([name, after.get(name)]).toEqual([name, rows]);
    }
    const audited = before.get('public.audit_event') ?? [];
    expect(after.get('public.audit_event')).toEqual(expect.arrayContaining(audited));
    expect(dumped.get('public.encounter')).toHaveLength(1);
    const patients = dumped.get('public.client')?.length ?? 0;
    expect(patients).toBeGreaterThan(writes.before);
    expect(patients).toBeLessThan(writes.after);
  });

  it('gives PostgreSQL statistics of the restored rows, without which its plans are for empty tables', async () => {
    const sql = `SELECT last_analyze IS NOT NULL AS "isAnalyzed" FROM pg_stat_user_tables WHERE relname = 'client'`;
    expect(await rowsOf(urlOf('owner', 'ces_restored'), sql)).toEqual([{ isAnalyzed: true }]);
  });

  it('restores every document and the keys, so that earlier links still lead to their documents', async () => {
    const link = new URL(document.fileUrl ?? document.url);
    const answer = await fetch(`${restored.baseUrl}${link.pathname}`);
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.from(sampleFiles.png));
    const documents = async (dataDir: string) => (await filesBelow(folder(dataDir, 'documents'))).sort();
    expect(await documents('restored')).toEqual(await documents('source'));
    const keys = (dataDir: string) => readFile(folder(dataDir, 'signing-keys.json'), 'utf8');
    expect(await keys('restored')).toBe(await keys('source'));
  });

  it('lets a server start after the restore, and clients authenticate and read', async () => {
    const started = startServer({ ...environmentOf('ces_restored', 'restored') });
    const server = { baseUrl: await started.started };
    const found = await call(server, `GET /encounters/${encounter.encounter_id}`, {
      token: await newToken(server, partner),
    });
    expect(found.body).toMatchObject({ gfe_no: encounter.gfe_no });
    await killServers();
  });

  it('lets readers continue after the restore at the cursors of its first and last event, and refuses a later cursor', async () => {
    const { tenantId } = partner;
    await recordPaid(restored, { tenantId, clinicId: null }, 'ORD-102000', 9);
    const after = async (cursor: string) => (await feedPage(restored, partner, { cursor, limit: 100 })).data;
    const all = (await feedPage(restored, partner, { limit: 100 })).data;
    expect(await after(seen.first)).toEqual(all.slice(1));
    expect(await after(seen.end)).toEqual(all.slice(-9));
    const refused = await call(restored, `GET /events?cursor=${seen.lost}`, { token: partner.token });
    expect(refused.body).toMatchObject({ code: 'cursor_invalid' });
  });

  it('lets new events become deliveries to the webhook endpoints after the restore', async () => {
    while (await makeDeliveries(restored.services));
    const target = `GET /webhook-endpoints/${endpointId}/deliveries?limit=100`;
    const { body } = await call(restored, target, { token: partner.token });
    expect(body.data.slice(0, 9).map((one: { eventType: string }) => one.eventType)).toEqual(
      Array(9).fill('order.paid'),
    );
  });

  it('keeps the number of a lost encounter from being used again after the restore', async () => {
    const { encounter_id: id } = await newEncounter(restored, partner);
    expect(id).toBeGreaterThan(lostEncounter.encounter_id);
  });

  it('restores the patients of the erasure journal as erased, without their documents', async () => {
    const { body } = await call(restored, `GET /clients/${erasedId}`, { token: partner.token });
    expect(body).toMatchObject({ email: `${erasedId}@erased.invalid` });
    expect(await rowsOf(urlOf('owner', 'ces_restored'), 'SELECT FROM document')).toHaveLength(1);
    const audited = `SELECT operator, patient_ids FROM audit_event WHERE operation_id = 'patient erase'`;
    expect(await rowsOf(urlOf('owner', 'ces_restored'), audited)).toMatchObject([{ patient_ids: [erasedId] }]);
  });

  it('preserves an audit chain that verifies after the restore', async () => {
    await addCheckpoints(restored.domain);
    const verdict = await runJson(environmentOf('ces_restored', 'restored'), 'audit', 'verify');
    expect(verdict.checkpoints).toBeGreaterThan(1);
  });

  it('is readable only by its owner, even in a folder that others can read', async () => {
    await mkdir(folder('open'), { mode: 0o755 });
    const to = folder('open');
    await runJson(environmentOf('ces', 'source'), 'backup', 'create', '--to', to, '--with-keys');
    const names = await readdir(to, { recursive: true });
    const files = await Promise.all(names.map(async (name) => ({ name, mode: (await stat(join(to, name))).mode })));
    const open = files.filter(({ mode, name }) => name !== 'objects' && (mode & 0o077) !== 0);
    expect([files.length, open]).toEqual([6, []]);
  });

  it('is not written to a folder that has the backup of another database', async () => {
    const { stderr } = await runProgram(
      environmentOf('ces_restored', 'restored'),
      'backup',
      'create',
      '--to',
      folder(BACKUP),
    );
    expect(stderr).toMatch(`${folder(BACKUP)} has the backup or export of another database or tenant, taken at `);
  });

  const withS3 = hasS3Server() ? it : it.skip;
  withS3(
    'whose restore was interrupted makes doctor and a server refuse the database, and can be restored into a new one',
    async () => {
      const s3 = await startS3Server();
      const environment = { ...environmentOf('ces_again', 'again'), ...s3.environment };
      const restore = (given: typeof environment) => runProgram(given, 'restore', '--from', folder(BACKUP));
      const createDatabase = "psql -v ON_ERROR_STOP=1 -c 'CREATE DATABASE ces_again OWNER ces_owner'";
      const restoreCheck = async () => {
        const { findings } = JSON.parse((await runProgram(environment, 'doctor', '--json')).stdout);
        return findings.find(({ check }: { check: string }) => check === 'restore');
      };
      await shell(createDatabase, 'again');
      try {
        const stopped = await restore({ ...environment, DATABASE_URL: urlOf('nobody', 'ces_again') });
        expect(stopped.stderr).toMatch(/"ces_nobody" does not exist/);
        const incomplete = 'A restore into this database is not complete';
        expect(await restoreCheck()).toMatchObject({ level: 'failure', message: expect.stringContaining(incomplete) });
        await expect(startServer(environment, '--migrate').started).rejects.toThrow(incomplete);

        expect((await restore(environment)).stderr).toMatch(/^The database is not empty: it has /);
        await shell("psql -v ON_ERROR_STOP=1 -c 'DROP DATABASE ces_again'", 'again');
        await shell(createDatabase, 'again');
        expect(await restore(environment)).toMatchObject({ code: 0, stderr: '' });
        expect(await restoreCheck()).toMatchObject({ level: 'ok' });
        const documents = await rowsOf(
          urlOf('owner', 'ces_again'),
          'SELECT blob_path AS key FROM document ORDER BY key',
        );
        expect(await s3.keys()).toEqual(documents.map(({ key }) => key));
      } finally {
        await s3.close();
      }
    },
  );

  it('is not restored with keys when the passphrase is wrong or missing', async () => {
    const restore = async (passphrase: string) => {
      const environment = { ...environmentOf('ces', 'source'), BACKUP_PASSPHRASE: passphrase };
      return (await runProgram(environment, 'restore', '--from', folder(BACKUP), '--with-keys')).stderr;
    };
    await runJson(environmentOf('ces', 'source'), 'backup', 'create', '--to', folder(BACKUP), '--with-keys');
    expect(await restore('another')).toBe(
      'BACKUP_PASSPHRASE is not the passphrase of the keys in this backup. Set that one, or omit --with-keys.\n',
    );
    expect(await restore('')).toBe(
      'The signing keys in a backup are encrypted: set BACKUP_PASSPHRASE (for a restore, that of the backup).\n',
    );
  });

  it('leaves no key file when the restore cannot write the keys completely', async () => {
    const environment = environmentOf('ces', 'source');
    await runJson(environment, 'backup', 'create', '--to', folder(BACKUP), '--with-keys');
    const command = `BACKUP_PASSPHRASE='${environment.BACKUP_PASSPHRASE}' ces restore --from /secure/backup --with-keys`;
    // Without room for a file, like a full disk.
    await expect(shell(`ulimit -f 0\n${command}`, 'full')).rejects.toThrow('signing-keys.json cannot be used: EFBIG');
    expect(await readdir(folder('full'))).not.toContain('signing-keys.json');
  });
});
