import type { ServerResponse } from 'node:http';
import { readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../src/adapters/database/database.js';
import { newToken, patientBody } from '../support/factories.js';
import { sampleFiles, startFileHost } from '../support/fileHost.js';
import { call, type Answer } from '../support/http.js';
import { createEmptyDatabase } from '../support/postgres.js';
import { openConnection } from '../support/rawHttp.js';
import { listens } from '../support/redis.js';
import { killServers, startServer, type ServerProcess } from '../support/serverProcess.js';
import { openStage } from '../support/stage.js';
import { expectCleanExit, newCredentials } from './servers.js';

const stage = await openStage();
const files = await startFileHost();
const credentials = await newCredentials(stage.db);

afterEach(killServers);

afterAll(() => files.close());

const start = (environment: Record<string, string> = {}, ...args: string[]) => {
  const settings = { DATA_DIR: stage.dataDir, DATABASE_URL: stage.database.serviceUrl };
  return startServer({ ...settings, DOCUMENT_FETCH_ALLOWED_HOSTS: files.host, ...environment }, ...args);
};

/** Starts an upload whose file host has received the request and does not answer yet. */
async function holdUpload(baseUrl: string, path: string) {
  const token = await newToken({ baseUrl }, credentials);
  const json = patientBody({ email: `${path.slice(1)}@example.com` });
  const { body: patient } = await call({ baseUrl }, 'POST /clients', { token, json });
  const asked = new Promise<ServerResponse>((resolve) => {
    files.serve(path, (_request, response) => resolve(response));
  });
  const target = `POST /clients-documents/${patient.user_id}/upload-url/lab-results`;
  const options = { token, json: { url: `http://${files.host}${path}` } };
  const upload: Promise<Answer | null> = call({ baseUrl }, target, options).catch(() => null);
  return { patientId: String(patient.user_id), host: await asked, upload };
}

describe('with DATABASE_URL', () => {
  it('--migrate creates the schema in an empty database, without demo data', async () => {
    const empty = await createEmptyDatabase();
    const fresh = openDatabase(empty.url);
    try {
      const server = start({ DATABASE_URL: empty.url }, '--migrate');
      const baseUrl = await server.started;
      expect(await call({ baseUrl }, 'GET /readyz')).toMatchObject({ status: 200 });
      expect(await fresh.prisma.tenant.count()).toBe(0);
      expect(await readdir(stage.dataDir)).not.toContain('demo-credentials.json');
      expect(server.stderr()).toBe(`Clinical Encounter Service on ${baseUrl}\n  reference    ${baseUrl}/docs\n`);
      expect(await call({ baseUrl }, 'GET /docs')).toMatchObject({ status: 200 });
    } finally {
      await fresh.close();
      await killServers();
      await empty.drop();
    }
  });

  it('LOG_LEVEL=silent keeps standard output empty', async () => {
    const server = start({ LOG_LEVEL: 'silent' });
    // Without a log, the address is on standard error only.
    while (!server.stderr().includes('/docs\n')) await delay(20);
    await expectCleanExit(server);
    expect(server.stdout()).toBe('');
  });
});

describe('SIGTERM', () => {
  const stopped = (server: ServerProcess) => server.logged().filter(({ msg }) => msg === 'stopped').length;

  it('makes /readyz fail first, then the server completes requests in flight, closes idle connections and exits with 0', async () => {
    const server = start({ SHUTDOWN_DELAY: '3' });
    const baseUrl = await server.started;
    const idle = await openConnection({ baseUrl });
    idle.socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await idle.answer()).toMatchObject({ status: 200 });
    const { host, upload, patientId } = await holdUpload(baseUrl, '/slow');
    const ask = (path: string): Promise<Answer> =>
      call({ baseUrl }, `GET ${path}`, { headers: { Connection: 'close' } });

    server.child.kill('SIGTERM');
    // Each request opens a new connection: a closed listener would refuse it, and `ask` would throw.
    while ((await ask('/readyz')).status === 200) await delay(20);
    expect((await ask('/readyz')).body).toMatchObject({ status: 'unavailable', database: 'ok' });
    expect((await ask('/healthz')).status).toBe(200);
    while (await listens(Number(new URL(baseUrl).port))) await delay(20);
    await idle.closed();
    // A terminal and npm may each send a signal.
    server.child.kill('SIGTERM');
    server.child.kill('SIGINT');
    host.writeHead(200, { 'Content-Type': 'application/pdf' }).end(sampleFiles.pdf);

    expect(await upload).toMatchObject({ status: 200, body: { userDocument: { user_id: patientId } } });
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(await stage.db.prisma.document.count({ where: { tenantId: 'lakeside', patientId } })).toBe(1);
    expect(stopped(server)).toBe(1);
    expect(server.logged().filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  it('aborts requests that exceed DRAIN_TIMEOUT', async () => {
    const server = start({ DRAIN_TIMEOUT: '1' });
    const { upload, patientId } = await holdUpload(await server.started, '/never');
    server.child.kill('SIGTERM');
    expect(await upload).toBeNull();
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(await stage.db.prisma.document.count({ where: { tenantId: 'lakeside', patientId } })).toBe(0);
  });
});
