import { Client } from 'pg';
import { UnknownOutcome } from '../../src/adapters/database/databaseErrors.js';
import { openDatabase, type Database } from '../../src/adapters/database/database.js';
import { checkContents, readServer } from '../../src/cli/checks/databaseChecks.js';
import { readConfig } from '../../src/config.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { writeFile } from 'node:fs/promises';
import { hasHaproxy } from '../lab/balancer.js';
import { hasDebianPostgres } from '../support/debianPostgres.js';
import { newToken, patientBody } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { commandsOf } from '../support/handbook.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { freePort } from '../support/mock.js';
import { part } from '../support/part.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { startReplication, type Replication } from '../support/replication.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { newCredentials } from './servers.js';

const suite = hasDebianPostgres() ? describe : describe.skip;

suite('with a synchronous standby,', () => {
  const folder = temporaryFolder();
  let postgres: Replication;
  /** The address that moves with the primary. */
  let proxy: Proxy;
  let url: string;
  let db: Database;
  beforeAll(async () => {
    postgres = await startReplication();
    proxy = await startProxy(postgres.primary().url);
    url = proxy.url;
    await migrateDatabase({ ownerUrl: url, url });
    db = openDatabase(url);
  });
  afterAll(async () => {
    await killServers();
    await proxy.close();
    await postgres.remove();
    await db.close();
  });

  it('a commit whose wait for the standby is cancelled has an unknown outcome, and its change persists', async () => {
    const impatient = openDatabase(url, { timeoutMs: 20_000 });
    const insert = () =>
      impatient.transaction(async ({ everyTenant }) => ({
        result: await everyTenant.run`CREATE TABLE doubt ()`,
        last: null,
      }));
    await postgres.standby().stop();
    const outcome = expect(insert()).rejects.toThrow(UnknownOutcome);
    const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
    while ((await rowsOf(url, cancel)).length === 0);
    await outcome;
    await postgres.standby().start();
    await postgres.synchronous();
    await expect(insert()).rejects.toMatchObject({ code: '42P07' });
    await impatient.close();
  });

  it('doctor warns if a failover would lose acknowledged changes, and fails if no standby confirms them, except on a standby', async () => {
    const place = { db, url, config: readConfig({ DATABASE_URL: url }), servers: 1 };
    const durability = async (server: Awaited<ReturnType<typeof readServer>>) =>
      (await checkContents(server, place)).filter(({ check }) => check === 'durability');
    const server = await readServer(db);
    expect(await durability(server)).toMatchObject([{ level: 'ok' }]);
    expect(await durability({ ...server, commit: 'local' })).toMatchObject([{ level: 'warning' }]);
    expect(await durability({ ...server, standbyNames: '' })).toMatchObject([{ level: 'warning' }]);
    expect(await durability({ ...server, standbys: 0 })).toMatchObject([{ level: 'failure' }]);
    expect(await durability({ ...server, standbys: 0, isStandby: true })).toMatchObject([{ level: 'ok' }]);
  });

  it.each(['ANY 2 (a, b)', 'first 2(a, b, c)', '2 (a, b)'])(
    'doctor fails if fewer standbys confirm changes than synchronous_standby_names = %j demands',
    async (standbyNames) => {
      const durability = async (standbys: number) => {
        const place = { db, url, config: readConfig({ DATABASE_URL: url }), servers: 1 };
        const findings = await checkContents({ ...(await readServer(db)), standbyNames, standbys }, place);
        return findings.find(({ check }) => check === 'durability');
      };
      const message = 'Synchronous standbys: 2 needed, 1 streaming. PostgreSQL confirms no change: callers get 503.';
      expect(await durability(1)).toMatchObject({ level: 'failure', message });
      expect(await durability(2)).toMatchObject({ level: 'ok' });
    },
  );

  it('doctor counts no reader of the WAL that no commit waits for as a standby', async () => {
    const reader = new Client({ connectionString: `${url}?replication=true` });
    await reader.connect();
    const readers = await rowsOf(url, `SELECT sync_state FROM pg_stat_replication ORDER BY sync_state`);
    expect(readers).toEqual([{ sync_state: 'async' }, { sync_state: 'sync' }]);
    expect(await readServer(db)).toMatchObject({ standbys: 1 });
    await reader.end();
  });

  it('a server uses the promoted standby after the primary was killed, also for its jobs', async () => {
    const credentials = await newCredentials(db);
    const server = startServer({ DATABASE_URL: url, DATA_DIR: folder(), RATE_LIMIT: 'off' });
    const baseUrl = await server.started;
    const token = await newToken({ baseUrl }, credentials);
    await postgres.primary().stop('SIGKILL');
    await postgres.promote();
    proxy.retarget(postgres.primary().url);
    const create = () => call({ baseUrl }, 'POST /clients', { token, json: patientBody() });
    for (let status = 503; status !== 201; { status } = await create()) expect(status).toBe(503);
    await rowsOf(
      postgres.primary().url,
      `UPDATE job_run SET due_at = now(), ended_at = NULL WHERE name = 'purge-events'`,
    );
    const ended = `SELECT FROM job_run WHERE name = 'purge-events' AND ended_at IS NOT NULL`;
    while ((await rowsOf(postgres.primary().url, ended)).length === 0);
  });

  (hasHaproxy() ? it : it.skip)(
    'the haproxy configuration of the handbook leads to the primary, also after a promotion',
    async () => {
      await rowsOf(postgres.primary().url, 'CREATE ROLE ces_check LOGIN');
      await postgres.rebuildStandby();
      const front = await freePort();
      const [block = ''] = await commandsOf('database.md', '## Standbys', '## Pooler', 'haproxy');
      const text = block
        .replace(':5432', `127.0.0.1:${front}`)
        .replace('db1:5432', `127.0.0.1:${postgres.standby().port}`)
        .replace('db2:5432', `127.0.0.1:${postgres.primary().port}`);
      await writeFile(folder('haproxy.cfg'), text);
      const url = `postgresql://postgres@127.0.0.1:${front}/ces`;
      const port = 'SELECT inet_server_port() AS port';
      /** Twice, because haproxy takes servers in turn. */
      const leadsToPrimary = async (): Promise<boolean> => {
        const found = [await rowsOf(url, port).catch(() => []), await rowsOf(url, port).catch(() => [])];
        return found.flat().filter((row) => row['port'] === postgres.primary().port).length === 2;
      };
      const haproxy = part({ command: ['haproxy', '-f', folder('haproxy.cfg')], isReady: leadsToPrimary });
      await haproxy.start();
      await postgres.primary().stop('SIGKILL');
      await postgres.promote();
      while (!(await leadsToPrimary()));
      await haproxy.stop('SIGKILL');
    },
    60_000,
  );
});
