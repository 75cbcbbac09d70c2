import { execFile } from 'node:child_process';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { runProcess } from '../cli/runProgram.js';
import { newToken, patientBody } from '../support/factories.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { freePort } from '../support/mock.js';
import { temporaryDataDir } from '../support/postgres.js';
import { killServers, startServer, type ServerProcess } from '../support/serverProcess.js';
import { demoToken, expectCleanExit } from './servers.js';

const run = promisify(execFile);
interface Credentials {
  readonly baseUrl: string;
  readonly tenants: readonly { readonly name: string; readonly clientId: string; readonly clientSecret: string }[];
}

/** Still runs at the end of each test. */
let server: ServerProcess;
let baseUrl: string;

const { dataDir, remove } = await temporaryDataDir();
const port = String(await freePort());
server = startServer({ DATA_DIR: dataDir, PORT: port });
while (!(await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok) await delay(20);
const filesWhenReady = await readdir(dataDir);
baseUrl = await server.started;

afterAll(async () => {
  await killServers();
  await remove();
});

async function restart(): Promise<void> {
  server = startServer({ DATA_DIR: dataDir });
  baseUrl = await server.started;
}

const credentialsFile = () => join(dataDir, 'demo-credentials.json');
const readCredentials = async () => JSON.parse(await readFile(credentialsFile(), 'utf8')) as Credentials;

const tokenOf = (index: number): Promise<string> => demoToken(baseUrl, dataDir, index);
const createPatient = (token: string, changes: Record<string, unknown>) =>
  call({ baseUrl }, 'POST /clients', { token, json: patientBody(changes) });

/** The process of the PostgreSQL of DATA_DIR; 0 if it was stopped. */
async function postmaster(): Promise<number> {
  const lock = await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').catch(() => '');
  return Number(lock.split('\n')[0]);
}

async function postgresRuns(): Promise<boolean> {
  const pid = await postmaster();
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the first start without configuration', () => {
  it('writes the credentials of two demo tenants to a file that only its owner can read', async () => {
    expect((await stat(credentialsFile())).mode & 0o777).toBe(0o600);
    const tenant = {
      clientId: expect.stringMatching(/^ces_[a-z2-7]{20}$/),
      clientSecret: expect.stringMatching(/^cess_test_.{40,}$/),
    };
    expect(await readCredentials()).toEqual({
      baseUrl,
      tenants: [
        { name: 'demo', ...tenant },
        { name: expect.any(String), ...tenant },
      ],
    });
  });

  it('is ready only when the demo credentials exist', () => {
    expect(filesWhenReady).toContain('demo-credentials.json');
  });

  it('prints where server, reference and credentials are, but no secret', async () => {
    const said = server.stderr();
    expect(said).toContain(`Clinical Encounter Service on ${baseUrl}\n`);
    expect(said).toContain(`${baseUrl}/docs\n`);
    expect(said).toContain(`${credentialsFile()}\n`);
    for (const { clientSecret } of (await readCredentials()).tenants) {
      expect(said + server.stdout()).not.toContain(clientSecret);
    }
  });

  it('prints a command for a first call that works when pasted', async () => {
    const [, command = ''] = server.stderr().split('first call\n');
    expect(command).toContain(`curl -s ${baseUrl}/oauth/token `);
    const { stdout } = await run('bash', ['-c', command]);
    const token = { token_type: 'Bearer', expires_in: 25_200, access_token: expect.any(String) };
    expect(JSON.parse(stdout)).toMatchObject(token);
  });

  it('connects to PostgreSQL as a role without superuser rights', async () => {
    const { url, close } = await openEmbeddedPostgres({ dataDir, role: 'tool', log: () => {} });
    const sessions = await rowsOf(
      url,
      `SELECT DISTINCT usename AS role, rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls AS is_powerful
       FROM pg_stat_activity JOIN pg_roles ON rolname = usename
       WHERE application_name = 'clinical-encounter-service'`,
    );
    expect(sessions).toEqual([{ role: 'clinical_encounter_service', is_powerful: false }]);
    await close();
  });

  it('lets a demo client call operations of a partner, for its own tenant only', async () => {
    const [own, other] = [await tokenOf(0), await tokenOf(1)];
    const get = async (target: string, token = own): Promise<number> =>
      (await call({ baseUrl }, `GET ${target}`, { token })).status;
    const { status, body } = await createPatient(own, { email: 'own@example.com' });
    expect(status).toBe(201);
    expect([await get(`/clients/${body.user_id}`), await get(`/clients/${body.user_id}`, other)]).toEqual([200, 404]);
    for (const target of ['/clinics', '/tenants/products', '/clients?email=own@example.com']) {
      expect(await get(target)).toBe(200);
    }
    const codeOf = async (target: string, json: object): Promise<string> =>
      (await call({ baseUrl }, `POST ${target}`, { token: own, json })).body.code;
    const upload = `/clients-documents/${body.user_id}/upload-url/id-card`;
    expect(await codeOf(upload, { url: 'https://127.0.0.1/x.pdf' })).toBe('document_url_forbidden');
    expect(await codeOf('/encounters', {})).toBe('validation_failed');
    expect(await codeOf('/encounters/status', { encounter_id: 1 })).toBe('encounter_not_found');
  });
});

it('the logs of the service and of PostgreSQL contain no data of a created or refused patient', async () => {
  const token = await tokenOf(0);
  const marked = { email: 'marked@example.com', firstName: 'Zqx', notes: 'zqx' };
  expect((await createPatient(token, marked)).status).toBe(201);
  expect((await createPatient(token, marked)).status).toBe(409);
  const logs = server.stdout() + server.stderr() + (await readFile(join(dataDir, 'postgres.log'), 'utf8'));
  expect(logs).not.toMatch(/marked@|zqx/i);
  expect(logs).not.toContain(token);
});

it('SIGTERM also stops the embedded PostgreSQL, commands open it with and without a server, and the next start keeps data and credentials', async () => {
  const command = (...args: string[]) => runProcess({ DATA_DIR: dataDir }, ...args);
  const before = await readCredentials();
  const { body } = await createPatient(await tokenOf(0), { email: 'kept@example.com' });
  expect(await postgresRuns()).toBe(true);
  await expectCleanExit(server);
  expect(await postgresRuns()).toBe(false);

  const tenant = await command('tenant', 'create', 'Lakeside', '--json');
  expect(tenant).toEqual({ code: 0, stdout: expect.stringContaining('"lakeside"'), stderr: '' });
  // The purge needs the connection of the database's owner, which the service does not have.
  expect(await command('audit', 'purge')).toEqual({ code: 0, stdout: '0 rows were removed.\n', stderr: '' });
  expect(await postgresRuns()).toBe(false);

  await restart();
  expect(await readCredentials()).toEqual({ ...before, baseUrl });
  expect((await stat(credentialsFile())).mode & 0o777).toBe(0o600);
  expect((await call({ baseUrl }, `GET /clients/${body.user_id}`, { token: await tokenOf(0) })).status).toBe(200);
  const created = await command('client', 'create', '--tenant', 'Lakeside', '--preset', 'provider', '--json');
  expect(created).toEqual({ code: 0, stdout: expect.any(String), stderr: '' });
  expect(await newToken({ baseUrl }, JSON.parse(created.stdout))).toEqual(expect.any(String));
});

it('a server whose PostgreSQL dies logs why and exits with 1, and the next start has all committed rows', async () => {
  const { body } = await createPatient(await tokenOf(0), { email: 'durable@example.com' });
  process.kill(await postmaster(), 'SIGKILL');
  expect(await server.ended).toEqual({ code: 1, signal: null });
  const fatal = server.logged().filter(({ level }) => Number(level) >= 60);
  expect(fatal).toMatchObject([{ causes: [{ message: expect.stringContaining('embedded PostgreSQL stopped') }] }]);
  await restart();
  expect((await call({ baseUrl }, `GET /clients/${body.user_id}`, { token: await tokenOf(0) })).status).toBe(200);
});
