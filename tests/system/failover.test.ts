import { isUnavailable, UnknownOutcome } from '../../src/adapters/database/databaseErrors.js';
import { openDatabase, type Database } from '../../src/adapters/database/database.js';
import { protectedUrl } from '../../src/adapters/database/databaseUrl.js';
import { checkContents, readServer } from '../../src/cli/checks/databaseChecks.js';
import { readConfig } from '../../src/config.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { hasDebianPostgres } from '../support/debianPostgres.js';
import { newToken, patientBody } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { startReplication, type Replication } from '../support/replication.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { newCredentials } from './servers.js';

const suite = hasDebianPostgres() ? describe : describe.skip;

suite('a primary with a synchronous standby', () => {
  const folder = temporaryFolder();
  let postgres: Replication;
  let url: string;
  let db: Database;
  beforeAll(async () => {
    postgres = await startReplication();
    const hosts = [postgres.standby(), postgres.primary()].map(({ port }) => `127.0.0.1:${port}`);
    url = protectedUrl('DATABASE_URL', `postgresql://postgres@${hosts.join(',')}/ces?target_session_attrs=read-write`);
    await migrateDatabase({ ownerUrl: url, url });
    db = openDatabase(url);
  }, 60_000);
  afterAll(async () => {
    await killServers();
    await postgres.remove();
    await db.close();
  });

  it('a commit whose wait for the standby is cancelled has an unknown outcome, and takes effect once the standby has it', async () => {
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
  }, 30_000);

  it('doctor warns if a failover would lose acknowledged changes, and fails if no standby confirms them', async () => {
    const place = { db, url, config: readConfig({ DATABASE_URL: url }), servers: 1 };
    const durability = async (server: Awaited<ReturnType<typeof readServer>>) =>
      (await checkContents(server, place)).filter(({ check }) => check === 'durability');
    const server = await readServer(db);
    expect(await durability(server)).toMatchObject([{ level: 'ok' }]);
    expect(await durability({ ...server, commit: 'local' })).toMatchObject([{ level: 'warning' }]);
    expect(await durability({ ...server, standbyNames: '' })).toMatchObject([{ level: 'warning' }]);
    expect(await durability({ ...server, standbys: 0 })).toMatchObject([{ level: 'failure' }]);
  });

  it('a server uses the promoted standby after the primary was killed, also for its jobs', async () => {
    const credentials = await newCredentials(db);
    const server = startServer({ DATABASE_URL: url, DATA_DIR: folder(), RATE_LIMIT: 'off' });
    const baseUrl = await server.started;
    const token = await newToken({ baseUrl }, credentials);
    await postgres.primary().stop('SIGKILL');
    await postgres.promote();
    const create = () => call({ baseUrl }, 'POST /clients', { token, json: patientBody() });
    for (let status = 503; status !== 201; { status } = await create()) expect(status).toBe(503);
    await rowsOf(
      postgres.primary().url,
      `UPDATE job_run SET due_at = now(), ended_at = NULL WHERE name = 'purge-events'`,
    );
    const ended = `SELECT FROM job_run WHERE name = 'purge-events' AND ended_at IS NOT NULL`;
    while ((await rowsOf(postgres.primary().url, ended)).length === 0);
  }, 60_000);

  it('the error says that no host accepts changes while only a standby is left', async () => {
    const alone = openDatabase(
      protectedUrl('DATABASE_URL', `postgresql://postgres@127.0.0.1:1,127.0.0.1:2/ces?target_session_attrs=read-write`),
    );
    const failure = await alone.everyTenant.rows`SELECT 1`.catch((error: unknown) => error);
    expect(failure).toMatchObject({ message: expect.stringContaining('No host of the database accepts changes') });
    expect(isUnavailable(failure)).toBe(true);
    await alone.close();
  });
});
