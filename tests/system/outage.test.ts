import { readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { openDatabase, type Database } from '../../src/adapters/database/database.js';
import { startProxy } from '../support/proxy.js';
import {
  exampleBody,
  operationOf,
  operations,
  requiredHeaders,
  targetOf,
  type ContractOperation,
} from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { newPartner, newPatient, patientBody } from '../support/factories.js';
import { sampleFiles, startFileHost } from '../support/fileHost.js';
import { startHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { createTestDatabase } from '../support/postgres.js';
import { expectProblem } from '../support/refusals.js';
import { loginBody } from '../support/tokens.js';

const database = await createTestDatabase();
const proxy = await startProxy(database.url);
const files = await startFileHost();
const harness = await startHarness({
  databaseUrl: proxy.url,
  environment: { DOCUMENT_FETCH_ALLOWED_HOSTS: files.host },
});
const partner = await newPartner(harness);
/** Its tenant serves the sandbox operations only, because they reset it. */
const sandbox = await newPartner(harness, 'sandbox');
const patientId = await newPatient(harness, partner);
/** Reaches the database without the proxy. */
const observer = new Client({ connectionString: database.url });
await observer.connect();

afterEach(async () => {
  await proxy.mend();
  await ready();
  // An outage must not be logged as an internal error.
  const codes = harness.logged.filter(({ msg }) => msg === 'request failed').map(({ code }) => code);
  expect([...new Set(codes)].filter((code) => code !== 'dependency_unavailable')).toEqual([]);
});

afterAll(async () => {
  await harness.close();
  await observer.end();
  await proxy.close();
  await files.close();
  await database.drop();
});

/** Polls /readyz, like a load balancer, until it answers with this status. */
async function ready(status = 200): Promise<Answer> {
  for (;;) {
    const answer = await call(harness, 'GET /readyz');
    if (answer.status === status) return answer;
    await delay(20);
  }
}

/** Sends the example of the operation, which is valid and therefore reaches the database. */
function send(operation: ContractOperation): Promise<Answer> {
  if (operation.operationId === 'issueToken') return login();
  return call(harness, targetOf(operation), {
    token: (operation.path.startsWith('/sandbox') ? sandbox : partner).token,
    headers: requiredHeaders(operation),
    ...(operation.requestBody ? { json: exampleBody(operation) } : {}),
  });
}

/** Operations that need the database, among them public ones. */
const dependent = operations.filter(({ path }) => !/^\/(healthz|readyz|\.well-known\/.*)$/.test(path));
const nameOf = ({ operationId }: ContractOperation): string => operationId;
const expectEach = (check: (answer: Answer) => void, atOnce = 1): Promise<void> =>
  everyCase(dependent, nameOf, async (operation) => check(await send(operation)), atOnce);
const expectAnswers = (): Promise<void> => expectEach(({ status }) => expect(status).toBeLessThan(500));
const readPatient = (): Promise<Answer> => call(harness, `GET /clients/${patientId}`, { token: partner.token });
const login = (): Promise<Answer> => call(harness, 'POST /oauth/token', { json: loginBody(partner) });

function expectUnavailable(answer: Answer): void {
  expectProblem(answer, 503, 'dependency_unavailable');
  expect(answer.headers.get('Retry-After')).toBe('5');
  expect(answer.text).not.toMatch(/ECONN|prisma|postgres|127\.0\.0\.1|timeout/i);
}

/** The rows of documents, and the names of the stored files except those of the sandbox. */
async function stored() {
  const { rows } = await observer.query('SELECT id FROM document WHERE tenant_id = $1', [partner.tenantId]);
  const entries = await readdir(join(harness.dataDir, 'documents'), { recursive: true, withFileTypes: true });
  const ours = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes(sandbox.tenantId));
  return { rows, files: ours.map(({ name }) => name) };
}

function upload(path: string): Promise<Answer> {
  const target = `POST /clients-documents/${patientId}/upload-url/lab-results`;
  return call(harness, target, { token: partner.token, json: { url: `http://${files.host}${path}` } });
}

describe('while the database refuses connections', () => {
  it('every operation that needs the database answers 503 with Retry-After, and recovers without a restart', async () => {
    await expectAnswers();
    await proxy.cut();
    await expectEach(expectUnavailable, 8);
    // After 30 s the cached state of the caller has expired, too.
    harness.clock.advance(31);
    await expectEach(expectUnavailable, 8);
    await proxy.mend();
    await ready();
    await expectAnswers();
  });

  it('/healthz and the signing keys answer 200, and /readyz 503', async () => {
    await proxy.cut();
    expect((await call(harness, 'GET /healthz')).status).toBe(200);
    expect((await call(harness, 'GET /.well-known/jwks.json')).status).toBe(200);
    const { body, headers } = await ready(503);
    expect({ retry: headers.get('Retry-After'), body }).toMatchObject({ retry: '5', body: { status: 'unavailable' } });
  });

  it('requests still get 401 and 404, but 503 instead of a 400 that must be audited', async () => {
    await send(operationOf('listClinics'));
    await proxy.cut();
    expectProblem(await call(harness, 'GET /clinics', { token: 'garbage' }), 401, 'token_invalid');
    expectUnavailable(await call(harness, 'GET /clinics?page=0', { token: partner.token }));
    expectProblem(await call(harness, 'GET /nowhere'), 404, 'route_not_found');
  });
});

it('every operation that needs the database answers 503 while the database hangs, and recovers', async () => {
  await login();
  proxy.hang();
  await expectEach(expectUnavailable, dependent.length);
  await ready(503);
  await proxy.mend();
  await ready();
  await expectAnswers();
});

describe('while every database connection is in use', () => {
  const list = (): Promise<Answer> => call(harness, 'GET /clinics', { token: partner.token });
  /** Does the work while the service has a pool of this size. */
  async function withPool(poolSize: number, timeoutMs: number, work: (pool: Database) => Promise<unknown>) {
    const { db } = harness.services;
    const pool = openDatabase(database.url, { poolSize, timeoutMs });
    Object.assign(harness.services, { db: pool });
    await work(pool).finally(() => Object.assign(harness.services, { db }));
    await pool.close();
  }

  it('a request gets 503, /readyz answers 200, and the next request succeeds after a connection is free', () =>
    withPool(1, 1_000, async ({ prisma }) => {
      const hold = async (transaction: Pick<typeof prisma, '$queryRaw'>): Promise<void> => {
        await transaction.$queryRaw`SELECT 1`;
        const create = call(harness, 'POST /clients', { token: partner.token, json: patientBody() });
        const answers = [list(), login(), create];
        // Requests that queue must not look like a database that is down: every server would leave the balancer.
        expect((await call(harness, 'GET /readyz')).status).toBe(200);
        (await Promise.all(answers)).forEach(expectUnavailable);
      };
      await prisma.$transaction(hold, { timeout: 20_000 });
      expect((await list()).status).toBe(200);
    }));

  it('50 requests that queue for 2 connections all succeed', () =>
    withPool(2, 20_000, async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, list));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    }));
});

describe('an upload', () => {
  it('answers 503 while the object store is broken, unlike getPatient and /readyz, stores no row or file, and recovers', async () => {
    const folder = join(harness.dataDir, 'documents');
    files.serve('/a.pdf', { content: sampleFiles.pdf });
    const before = await stored();
    await rename(folder, `${folder}.gone`);
    await writeFile(folder, 'a file where the folder was');
    expectUnavailable(await upload('/a.pdf'));
    expect(await ready()).toMatchObject({ body: { status: 'ready' } });
    expect((await readPatient()).status).toBe(200);
    await rename(`${folder}.gone`, `${folder}.back`);
    await rename(folder, `${folder}.file`);
    await rename(`${folder}.back`, folder);
    expect(await stored()).toEqual(before);
    expect((await upload('/a.pdf')).status).toBe(200);
  });

  it('stores neither row nor file when the fetched file ends early', async () => {
    files.serve('/half.pdf', (_request, response) => {
      response.writeHead(200, { 'Content-Length': '100000' }).write(sampleFiles.pdf, () => response.destroy());
    });
    const before = await stored();
    expectProblem(await upload('/half.pdf'), 400, 'document_fetch_failed');
    expect(await stored()).toEqual(before);
  });

  it('answers 503 and stores no row when the database goes down during the upload', async () => {
    files.serve('/cut.pdf', (_request, response) => void proxy.cut().then(() => response.end(sampleFiles.pdf)));
    const { rows } = await stored();
    expectUnavailable(await upload('/cut.pdf'));
    expect((await stored()).rows).toEqual(rows);
    await proxy.mend();
    await ready();
    files.serve('/cut.pdf', { content: sampleFiles.pdf });
    expect((await upload('/cut.pdf')).status).toBe(200);
  });
});
