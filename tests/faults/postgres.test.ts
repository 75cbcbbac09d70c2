import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { openDatabase } from '../../src/adapters/database/database.js';
import { prepareCluster, type Cluster } from '../../src/embedded/postgresCluster.js';
import { startPostgres, type RunningPostgres } from '../../src/embedded/postgresProcess.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { newToken } from '../support/factories.js';
import { rowsOf } from '../support/migrations.js';
import { temporaryDataDir } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { newCredentials } from '../system/servers.js';
import { figure, isFull, percentile, tally } from './faults.js';
import { healedAfter, startLoad, type Load, type Seen } from './load.js';

/** How long each fault lasts. */
const FAULT_MS = isFull ? 10_000 : 1_000;
/** The limit for recovery; other tests slow the machine down in a small run. */
const HEALED_MS = isFull ? 1_000 : 5_000;

/** Outside the range of outgoing connections, which could take the port while PostgreSQL is down. */
const port = randomInt(20_000, 30_000);

let folder: Awaited<ReturnType<typeof temporaryDataDir>>;
let cluster: Cluster;
let postgres: RunningPostgres;
let load: Load;
let baseUrl: string;
let token: string;
beforeAll(async () => {
  folder = await temporaryDataDir();
  cluster = await prepareCluster(folder.dataDir);
  postgres = await started();
  await migrateDatabase({ ownerUrl: postgres.url, url: postgres.url });
  const db = openDatabase(postgres.url);
  const client = await newCredentials(db);
  await db.close();
  const environment = { DATABASE_URL: postgres.url, DATA_DIR: folder.dataDir, RATE_LIMIT: 'off' };
  baseUrl = await startServer(environment).started;
  token = await newToken({ baseUrl }, client);
});
afterEach(() => load.stop());
afterAll(async () => {
  await killServers();
  await folder.remove();
});

/** Retries, because PostgreSQL refuses to start while a process of its predecessor is left. */
async function started(): Promise<RunningPostgres> {
  for (const end = Date.now() + 60_000; ;) {
    const running = await startPostgres(cluster, {}, port);
    if (running) return running;
    if (Date.now() > end) throw new Error(`PostgreSQL did not start again: see ${cluster.logFile}`);
    await delay(20);
  }
}

/** Sends a signal to PostgreSQL and all its child processes. */
async function signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const { pid } = postgres;
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  for (const each of [pid, ...children.trim().split(' ').map(Number)]) process.kill(each, name);
}

/**
 * Breaks something for a while under load: callers may only see 503 with Retry-After, and lose no acknowledged patient.
 * @param mend resolves when it works again
 */
async function suffer(what: string, breakIt: () => Promise<unknown>, mend: () => Promise<unknown>): Promise<void> {
  load = startLoad(baseUrl, token);
  await healedAfter(load, Date.now());
  await breakIt();
  await delay(FAULT_MS);
  await mend();
  const mended = Date.now();
  const healed = await healedAfter(load, mended);
  await delay(500);
  const seen = await load.stop();
  const created = seen.flatMap(({ created: id }) => id ?? []);
  const sql = `SELECT count(*)::int AS count FROM client WHERE id = ANY ('{${created.join(',')}}'::uuid[])`;
  const rows = await rowsOf(postgres.url, sql);
  const lost = created.length - Number(rows[0]?.['count']);
  const failed = seen.filter(({ status }) => status >= 300);
  const statuses = JSON.stringify(tally(seen.map(({ status }) => status)));
  const longest = Math.max(...seen.map(({ took }) => took));
  const median = percentile(
    failed.map(({ took }) => took),
    0.5,
  );
  const recovery = `healed after ${healed - mended} ms, acknowledged and lost ${lost} of ${created.length}`;
  figure(
    what,
    `${statuses} of ${seen.length} requests, longest ${longest} ms, p50 of failures ${median} ms, ${recovery}`,
  );
  const other = ({ status, retryAfter }: Seen): boolean => status !== 503 || retryAfter !== '5';
  expect(failed.filter(other)).toEqual([]);
  expect(lost).toBe(0);
  expect(healed - mended).toBeLessThan(HEALED_MS);
}

it.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
  ['is killed', () => signal('SIGKILL'), async () => (postgres = await started())],
  ['hangs', () => signal('SIGSTOP'), () => signal('SIGCONT')],
])(
  'the server answers 503 with Retry-After when PostgreSQL %s under load, and recovers',
  async (fault, breakIt, mend) => {
    await suffer(`PostgreSQL ${fault}`, breakIt, mend);
    if (fault === 'is killed') expect(load.seen.some(({ status }) => status === 503)).toBe(true);
  },
  60_000,
);

it('the server answers 503 with Retry-After while a table is locked under load, and recovers', async () => {
  const other = new Client({ connectionString: postgres.url });
  await other.connect();
  await other.query('BEGIN');
  await suffer(
    'a table is locked',
    () => other.query('LOCK TABLE client'),
    () => other.query('COMMIT'),
  );
  await other.end();
}, 60_000);
