import { setTimeout as delay } from 'node:timers/promises';
import { patientBody } from '../support/factories.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { commandsOf } from '../support/handbook.js';
import { packageRoot } from '../../src/packageRoot.js';
import { temporaryDataDir } from '../support/postgres.js';
import { killServers, startCommand, startServer, workersOf } from '../support/serverProcess.js';
import { startStage } from '../support/stage.js';
import { demoToken, expectCleanExit } from './servers.js';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('a server with two workers serves one port, replaces a dead worker, and ends all workers on SIGTERM', async () => {
  const { dataDir, remove } = await temporaryDataDir();
  try {
    const server = startServer({ DATA_DIR: dataDir, WORKERS: '2' });
    const baseUrl = await server.started;
    const token = await demoToken(baseUrl, dataDir);
    const create = async (): Promise<number> => {
      const options = { token, json: patientBody(), headers: { Connection: 'close' } };
      return (await call({ baseUrl }, 'POST /clients', options)).status;
    };
    const [first = 0, second = 0, ...others] = workersOf(server);
    expect([first > 0, second > 0, others]).toEqual([true, true, []]);
    expect(await Promise.all(Array.from({ length: 8 }, create))).toEqual(Array(8).fill(201));

    process.kill(first, 'SIGKILL');
    const died = 'a worker died and is replaced';
    // Connections that it was given until then are lost.
    while (!server.logged().some(({ msg }) => msg === died)) await delay(5);
    // The other worker serves until there are two again.
    const statuses: number[] = [];
    do statuses.push(await create());
    while (workersOf(server).length < 2);
    expect(statuses).toEqual(statuses.map(() => 201));

    const workers = workersOf(server);
    expect(workers).toContain(second);
    await expectCleanExit(server);
    expect(workers.filter(isAlive)).toEqual([]);
    expect(server.logged().filter(({ msg }) => msg === 'started')).toHaveLength(1);
  } finally {
    await killServers();
    await remove();
  }
});

it("the handbook's command starts a server that SIGTERM ends with all its workers within DRAIN_TIMEOUT", async () => {
  const { dataDir, remove } = await temporaryDataDir();
  try {
    const [build = ''] = await commandsOf('install.md', '## Build and start');
    const command = build.trimEnd().split('\n').at(-1) ?? '';
    const environment = { DATA_DIR: dataDir, WORKERS: '2', DRAIN_TIMEOUT: '60' };
    const server = startCommand(command.split(' '), packageRoot, environment);
    await server.started;
    const workers = workersOf(server);
    expect(workers).toHaveLength(2);
    const stopped = performance.now();
    await expectCleanExit(server);
    expect(performance.now() - stopped).toBeLessThan(60_000);
    expect(workers.filter(isAlive)).toEqual([]);
  } finally {
    await killServers();
    await remove();
  }
});

it('a server keeps running, replaces workers and starts on a database that a later build has migrated', async () => {
  const stage = await startStage();
  try {
    const environment = { ...stage.environment, WORKERS: '2' };
    const server = startServer(environment, '--migrate');
    await server.started;
    const later = `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
      VALUES ('1', 'x', '29991231000000_future', now())`;
    await rowsOf(stage.database.url, later);
    const [first = 0] = workersOf(server);
    process.kill(first, 'SIGKILL');
    const notices = (): unknown[] =>
      server.logged().filter(({ msg }) => String(msg).includes('is newer than this build'));
    while (notices().length === 0) await delay(5);
    while (workersOf(server).length < 2) await delay(5);
    await expectCleanExit(server);

    const another = startServer(stage.environment, '--migrate');
    expect((await call({ baseUrl: await another.started }, 'GET /readyz')).status).toBe(200);
    const notice = 'The database is newer than this build, which still supports it. It has 29991231000000_future.';
    expect(another.logged()).toEqual(expect.arrayContaining([expect.objectContaining({ msg: notice })]));
  } finally {
    await stage.close();
  }
});

it('a server refuses to start with WORKERS=0, and names the allowed values', async () => {
  const server = startServer({ DATA_DIR: '/nowhere', WORKERS: '0' });
  expect(await server.ended).toEqual({ code: 1, signal: null });
  expect(server.stderr()).toContain('WORKERS must be auto or a number from 1 to 99');
});
