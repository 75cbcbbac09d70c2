import { openDatabase, type Database } from '../../src/adapters/database/database.js';
import { readsOfStandby } from '../../src/adapters/database/standby.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { hasDebianPostgres } from '../support/debianPostgres.js';
import { newToken } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { startReplication, type Replication } from '../support/replication.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { newCredentials } from './servers.js';

const suite = hasDebianPostgres() ? describe : describe.skip;

suite('DATABASE_READ_URL', () => {
  const folder = temporaryFolder();
  let postgres: Replication;
  let primary: Database;
  let standby: Database;
  beforeAll(async () => {
    postgres = await startReplication();
    const { url } = postgres.primary();
    await migrateDatabase({ ownerUrl: url, url });
    [primary, standby] = [openDatabase(url), openDatabase(postgres.standby().url, { timeoutMs: 2_000 })];
  }, 60_000);
  afterAll(async () => {
    await killServers();
    await Promise.all([primary.close(), standby.close()]);
    await postgres.remove();
  });

  const failures: unknown[] = [];
  const newReads = () => readsOfStandby(primary, standby, (error) => failures.push(error));
  const isOnStandby = (db: Database): Promise<boolean> =>
    db.everyTenant.rows<{ found: boolean }>`SELECT pg_is_in_recovery() AS found`.then(([row]) => row?.found === true);

  it('reads come from the standby and see every earlier commit, even while its replay pauses and resumes', async () => {
    await primary.everyTenant.run`CREATE TABLE written (number int)`;
    const newest = (db: Database) =>
      db.everyTenant.rows<{ number: number }>`SELECT max(number) AS number FROM written`.then(([row]) => row?.number);
    const sources = new Set<boolean>();
    for (let number = 1; number <= 60; number += 1) {
      if (number % 20 === 10) await rowsOf(postgres.standby().url, 'SELECT pg_wal_replay_pause()');
      if (number % 20 === 15) await rowsOf(postgres.standby().url, 'SELECT pg_wal_replay_resume()');
      await primary.everyTenant.run`INSERT INTO written VALUES (${number})`;
      // New each time, because the last one may pause after it was behind.
      await newReads().run(async (db) => {
        expect(await newest(db)).toBe(number);
        sources.add(await isOnStandby(db));
      });
    }
    expect([...sources].sort()).toEqual([false, true]);
    expect(failures).toEqual([]);
  }, 30_000);

  it('reads come from the primary if DATABASE_READ_URL does not name a standby', async () => {
    const [first, second] = [openDatabase(postgres.primary().url), openDatabase(postgres.primary().url)];
    const reads = readsOfStandby(first, second, (error) => failures.push(error));
    expect(await reads.run(async (db) => db === first)).toBe(true);
    await Promise.all([first.close(), second.close()]);
  });

  it('a read that fails on the standby is repeated on the primary, as are all reads until the standby is back', async () => {
    const reads = newReads();
    const cancelled = Object.assign(new Error('canceling statement due to conflict with recovery'), { code: '40001' });
    const seen: boolean[] = [];
    const answer = await reads.run(async (db) => {
      seen.push(await isOnStandby(db));
      if (seen.at(-1)) throw cancelled;
      return 'answer';
    });
    expect([answer, ...seen]).toEqual(['answer', true, false]);
    expect(await reads.run(isOnStandby)).toBe(false);
    expect(failures).toEqual([cancelled]);
  });

  it('a server answers requests without a 5xx while its standby is stopped, and names the variable in its log', async () => {
    const credentials = await newCredentials(primary);
    const urls = { DATABASE_URL: postgres.primary().url, DATABASE_READ_URL: postgres.standby().url };
    const server = startServer({ ...urls, DATA_DIR: folder(), RATE_LIMIT: 'off' });
    const baseUrl = await server.started;
    const token = await newToken({ baseUrl }, credentials);
    const patient = {
      firstName: 'Jane',
      lastName: 'Miller',
      countryCode: '+1',
      phone: '5125550161',
      dateOfBirth: '1990-06-30',
    };
    const statuses = new Set<number>();
    const round = async (number: number): Promise<void> => {
      const body = { ...patient, email: `p${number}@example.com` };
      const created = await call({ baseUrl }, 'POST /clients', { token, json: body });
      const found = await call({ baseUrl }, `GET /clients/${created.body.user_id}`, { token });
      statuses.add(created.status).add(found.status);
    };
    for (let number = 0; number < 20; number += 1) await round(number);
    const served = `SELECT FROM pg_stat_activity WHERE application_name = 'clinical-encounter-service' AND query LIKE '%"client"."last_name"%'`;
    expect((await rowsOf(postgres.standby().url, served)).length).toBeGreaterThan(0);
    await rowsOf(postgres.primary().url, `ALTER SYSTEM SET synchronous_standby_names = ''`);
    await rowsOf(postgres.primary().url, 'SELECT pg_reload_conf()');
    await postgres.standby().stop('SIGINT');
    for (let number = 20; number < 40; number += 1) await round(number);
    expect([...statuses]).toEqual([201, 200]);
    expect(server.logged().map(({ msg }) => msg)).toContainEqual(expect.stringContaining('DATABASE_READ_URL'));
  }, 60_000);
});
