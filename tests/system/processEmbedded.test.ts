import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Schemas } from '../../src/contract.js';
import { newToken, patientBody } from '../support/factories.js';
import { call } from '../support/http.js';
import { temporaryDataDir } from '../support/postgres.js';
import { killServers, startServer, type ServerProcess } from '../support/serverProcess.js';

const run = promisify(execFile);
/** Milliseconds for tests that restart the process on a busy machine. */
const patience = 90_000;

interface Credentials {
  readonly baseUrl: string;
  readonly tenants: readonly { readonly name: string; readonly clientId: string; readonly clientSecret: string }[];
}

let dataDir: string;
let remove: () => Promise<void>;
/** Still runs at the end of each test. */
let server: ServerProcess;
let baseUrl: string;

beforeAll(async () => {
  ({ dataDir, remove } = await temporaryDataDir());
  await restart();
}, patience);

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

async function tokenOf(index: number): Promise<string> {
  const tenant = (await readCredentials()).tenants[index];
  if (!tenant) throw new Error('There is no such demo tenant');
  return newToken({ baseUrl }, tenant);
}

/** Whether the PostgreSQL of DATA_DIR runs. */
async function postgresRuns(): Promise<boolean> {
  const lock = await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(lock.split('\n')[0]);
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

  it('prints where server, reference and credentials are, but no secret', async () => {
    const said = server.stderr();
    expect(said).toContain(`Clinical Encounter Service on ${baseUrl}\n`);
    expect(said).toContain(`${baseUrl}/docs\n`);
    expect(said).toContain(`${credentialsFile()}\n`);
    for (const { clientSecret } of (await readCredentials()).tenants) {
      expect(said + server.stdout()).not.toContain(clientSecret);
    }
  });

  it('prints a first call that works when pasted', async () => {
    const [, command = ''] = server.stderr().split('first call\n');
    expect(command).toContain(`curl -s ${baseUrl}/oauth/token `);
    const { stdout } = await run('bash', ['-c', command]);
    const token = { token_type: 'Bearer', expires_in: 25_200, access_token: expect.any(String) };
    expect(JSON.parse(stdout)).toMatchObject(token);
  });

  it.each([0, 1])('gives demo tenant %i clinics and products of every kind', async (index) => {
    const token = await tokenOf(index);
    const clinics: Schemas['Clinic'][] = (await call({ baseUrl }, 'GET /clinics?limit=100', { token })).body.data;
    const products: Schemas['Product'][] = (await call({ baseUrl }, 'GET /tenants/products?limit=100', { token })).body
      .data;
    const states = new Set(clinics.flatMap(({ locations }) => locations.map(({ state }) => state)));
    expect(clinics.length).toBeGreaterThanOrEqual(6);
    expect(states.size).toBeGreaterThanOrEqual(3);
    expect(products.length).toBeGreaterThanOrEqual(12);
    expect(new Set(products.map(({ categoryId }) => categoryId)).size).toBeGreaterThanOrEqual(4);
    expect(products.filter(({ productRx }) => productRx !== null)).not.toEqual([]);
    expect(products.filter(({ isActive }) => !isActive)).not.toEqual([]);
    expect(products.filter(({ clinicAvailability }) => clinicAvailability.length > 0)).not.toEqual([]);
  });

  it('gives each demo client every permission of a partner, for its own tenant only', async () => {
    const [own, other] = [await tokenOf(0), await tokenOf(1)];
    const patient = await call({ baseUrl }, 'POST /clients', {
      token: own,
      json: patientBody({ email: 'own@example.com' }),
    });
    expect(patient.status).toBe(201);
    expect((await call({ baseUrl }, `GET /clients/${patient.body.user_id}`, { token: own })).status).toBe(200);
    expect((await call({ baseUrl }, `GET /clients/${patient.body.user_id}`, { token: other })).status).toBe(404);
    for (const target of ['GET /clinics', 'GET /tenants/products', 'GET /clients?email=own@example.com']) {
      expect((await call({ baseUrl }, target, { token: own })).status).toBe(200);
    }
    const upload = { token: own, json: { url: 'https://127.0.0.1/x.pdf' } };
    const refused = await call(
      { baseUrl },
      `POST /clients-documents/${patient.body.user_id}/upload-url/id-card`,
      upload,
    );
    expect(refused.body.code).toBe('document_url_forbidden');
    expect((await call({ baseUrl }, 'POST /encounters', { token: own, json: {} })).status).toBe(400);
    const status = await call({ baseUrl }, 'POST /encounters/status', { token: own, json: { encounter_id: 1 } });
    expect(status.body.code).toBe('encounter_not_found');
  });
});

it('the logs of the service and of PostgreSQL contain no data of a created or refused patient', async () => {
  const token = await tokenOf(0);
  const json = patientBody({ email: 'marked@example.com', firstName: 'Zqx', notes: 'zqx' });
  expect((await call({ baseUrl }, 'POST /clients', { token, json })).status).toBe(201);
  expect((await call({ baseUrl }, 'POST /clients', { token, json })).status).toBe(409);
  const logs = server.stdout() + server.stderr() + (await readFile(join(dataDir, 'postgres.log'), 'utf8'));
  expect(logs).not.toMatch(/marked@|zqx/i);
  expect(logs).not.toContain(token);
});

it(
  'SIGTERM also stops the embedded PostgreSQL, and the next start keeps data and credentials',
  async () => {
    const before = await readCredentials();
    const { body } = await call({ baseUrl }, 'POST /clients', {
      token: await tokenOf(0),
      json: patientBody({ email: 'kept@example.com' }),
    });
    expect(await postgresRuns()).toBe(true);
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(await postgresRuns()).toBe(false);

    await restart();
    expect(await readCredentials()).toEqual({ ...before, baseUrl });
    expect((await stat(credentialsFile())).mode & 0o777).toBe(0o600);
    expect((await call({ baseUrl }, `GET /clients/${body.user_id}`, { token: await tokenOf(0) })).status).toBe(200);
  },
  patience,
);

it(
  'SIGKILL loses no acknowledged patient',
  async () => {
    const token = await tokenOf(0);
    const acknowledged: string[] = [];
    const create = async (writer: number): Promise<void> => {
      for (let count = 0; ; count += 1) {
        const json = patientBody({ email: `killed.${writer}.${count}@example.com` });
        const answer = await call({ baseUrl }, 'POST /clients', { token, json }).catch(() => null);
        if (answer === null) return;
        acknowledged.push(answer.body.user_id);
        if (acknowledged.length === 40) server.child.kill('SIGKILL');
      }
    };
    await Promise.all([0, 1, 2, 3].map(create));
    expect(await server.ended).toEqual({ code: null, signal: 'SIGKILL' });

    await restart();
    const again = await tokenOf(0);
    const found = await Promise.all(
      acknowledged.map((id) => call({ baseUrl }, `GET /clients/${id}`, { token: again })),
    );
    expect(acknowledged.length).toBeGreaterThanOrEqual(40);
    expect(found.map(({ status }) => status)).toEqual(acknowledged.map(() => 200));
  },
  patience,
);
