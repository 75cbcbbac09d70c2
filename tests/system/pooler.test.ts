import { setTimeout as delay } from 'node:timers/promises';
import { checkPooler, openDatabase, type Database } from '../../src/adapters/database/database.js';
import { jobs } from '../../src/jobs/index.js';
import { runProgram } from '../cli/runProgram.js';
import { newToken, patientBody } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { hasPgBouncer, startPgBouncer, throughPooler } from '../support/pgbouncer.js';
import { adminUrl, createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { newCredentials } from './servers.js';

(hasPgBouncer() ? describe : describe.skip)('PgBouncer in transaction mode', () => {
  const folder = temporaryFolder();
  let database: TestDatabase;
  /** Through the pooler. */
  let db: Database;
  beforeAll(async () => {
    database = await createTestDatabase();
    // Differs from the service's TimeZone.
    await rowsOf(
      adminUrl(),
      `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET TimeZone = 'America/Chicago'`,
    );
  });
  afterAll(async () => {
    await killServers();
    await database.drop();
  });

  it.each([
    [
      'no settings',
      'SELECT 1',
      /wrong values of TimeZone, plan_cache_mode, lock_timeout, statement_timeout, idle_in_transaction_session_timeout/,
    ],
    [
      'one of the settings',
      'SET TimeZone = UTC',
      /wrong values of plan_cache_mode, lock_timeout, statement_timeout, .* connect_query='SET/,
    ],
  ])('checkPooler refuses a pooler that begins its sessions with %s', async (_which, query, message) => {
    const pooler = await startPgBouncer(adminUrl(), query);
    db = openDatabase(throughPooler(database.url, pooler.port), { isPooled: true });
    await expect(checkPooler(db)).rejects.toThrow(message);
    await db.close();
    await pooler.close();
  });

  it('a server refuses to start on a pooler without DATABASE_DIRECT_URL', async () => {
    const pooler = await startPgBouncer(adminUrl());
    const url = throughPooler(database.serviceUrl, pooler.port);
    const server = startServer({ DATABASE_URL: url, DATA_DIR: folder() });
    expect(await server.ended).toEqual({ code: 1, signal: null });
    const advice =
      /^.* A pooler answers instead of PostgreSQL: set DATABASE_DIRECT_URL and, if you use it, DATABASE_OWNER_URL to the address of PostgreSQL itself [^\n]*\n$/;
    expect(server.stderr()).toMatch(advice);
    expect((await runProgram({ DATABASE_URL: url, DATA_DIR: folder() }, 'tenant', 'list')).stderr).toMatch(advice);
    await pooler.close();
  });

  it('a server sends requests and jobs through the pooler, whose sessions all have the required settings', async () => {
    const pooler = await startPgBouncer(adminUrl());
    const urls = { DATABASE_URL: throughPooler(database.url, pooler.port), DATABASE_DIRECT_URL: database.serviceUrl };
    const server = startServer({ ...urls, DATA_DIR: folder(), RATE_LIMIT: 'off' });
    const baseUrl = await server.started;
    db = openDatabase(urls.DATABASE_URL, { isPooled: true });
    const token = await newToken({ baseUrl }, await newCredentials(db));
    const creations = Array.from({ length: 40 }, () =>
      call({ baseUrl }, 'POST /clients', { token, json: patientBody() }),
    );
    expect(new Set((await Promise.all(creations)).map(({ status }) => status))).toEqual(new Set([201]));
    await Promise.all(Array.from({ length: 20 }, () => db.snapshot(checkPooler)));
    const finished = 'SELECT name FROM job_run WHERE ended_at IS NOT NULL AND NOT failed';
    while ((await rowsOf(database.url, finished)).length < jobs.length) await delay(100);
    // The pooler connects as the superuser, whichever role its client names.
    const sessions = `SELECT DISTINCT application_name AS name, usename = 'ces_test_service' AS "isDirect"
      FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'clinical-encounter-%' ORDER BY 1`;
    expect(await rowsOf(database.url, sessions)).toEqual([{ name: 'clinical-encounter-service', isDirect: false }]);
    await db.close();
    await killServers();
    await pooler.close();
  });
});
