import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { pino } from 'pino';
import { openDatabase, type Database } from '../../src/adapters/database/database.js';
import { jobCounts } from '../../src/adapters/jobs/jobCounts.js';
import { startJobs, type ScheduledJob } from '../../src/adapters/jobs/jobs.js';
import { createMetrics } from '../../src/adapters/metrics/createMetrics.js';
import { startTelemetry } from '../../src/telemetry.js';
import { rowsOf } from '../support/migrations.js';
import { createTestDatabase } from '../support/postgres.js';
import { startProxy } from '../support/proxy.js';
import { until } from '../support/until.js';

const HOUR = 3_600;
const LEASE = 30;

const metrics = createMetrics();
startTelemetry({ metrics });
const database = await createTestDatabase();
const sql = new Client({ connectionString: database.url });
await sql.connect();
afterAll(async () => {
  await sql.end();
  await database.drop();
});

type Process = ReturnType<typeof startJobs> & { readonly db: Database };
const processes: Process[] = [];
let logged: Record<string, unknown>[] = [];
/** Runs of the job {@link beat}. */
let beats = 0;

afterEach(async () => {
  const ending = processes.splice(0);
  await Promise.all(ending.map(({ stop, db }) => stop(5_000).then(() => db.close())));
  await sql.query('DELETE FROM job_run');
  logged = [];
});

/** A job that is always due, and so shows that its process looks for jobs. */
const beat: ScheduledJob = { name: 'beat', interval: 0, run: async () => void (beats += 1) };
const log = pino({ base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) });

/** Starts the jobs of a process, which has one connection: no idle or long job may hold it. */
function start(jobs: readonly ScheduledJob[], url = database.serviceUrl): Process {
  const db = openDatabase(url, { poolSize: 1 });
  const started = { ...startJobs({ db, jobs, log, pause: 10 }), db };
  processes.push(started);
  return started;
}

/** Waits until the process with {@link beat} has looked for due jobs this often. */
async function looks(count = 3): Promise<void> {
  const last = beats + count;
  await until(() => beats >= last);
}

async function rowOf(name: string) {
  const text = `SELECT ended_at IS NOT NULL AS ended, failed, extract(epoch FROM due_at - clock_timestamp())::float AS wait
    FROM job_run WHERE name = $1`;
  return (await sql.query<{ ended: boolean; failed: boolean; wait: number }>(text, [name])).rows[0];
}
const hasEnded = async (name: string): Promise<boolean> => (await rowOf(name))?.ended === true;
/** Seconds until a job is due. */
const waitOf = async (name: string): Promise<number> => (await rowOf(name))?.wait ?? Number.NaN;
const makeDue = (name: string): Promise<unknown> =>
  sql.query('UPDATE job_run SET due_at = now() WHERE name = $1', [name]);
const counted = (): Promise<string> => metrics.registry.getSingleMetricAsString('ces_job_runs_total');

/** Starts processes that then all wait to claim a job that has never run. @param look is called at that moment */
async function whileClaiming(job: ScheduledJob, count: number, look: (claiming: readonly Process[]) => unknown) {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await sql.query('BEGIN');
  try {
    await sql.query('INSERT INTO job_run (name, started_at, due_at) VALUES ($1, now(), now())', [job.name]);
    const claiming = Array.from({ length: count }, () => start([job]));
    await until(async () => (await rowsOf(database.url, waiting)).length === count);
    look(claiming);
  } finally {
    await sql.query('ROLLBACK');
  }
}

/** A job that runs until `proceed()`. */
function heldJob(name: string, interval = HOUR) {
  const [runs, held] = [{ begun: 0, ended: 0 }, new EventEmitter()];
  const proceeding = once(held, 'proceed');
  const run = async (): Promise<void> => {
    runs.begun += 1;
    await proceeding;
    runs.ended += 1;
  };
  const begun = () => until(() => runs.begun > 0);
  return { job: { name, interval, run }, runs, begun, proceed: () => held.emit('proceed') };
}

describe('the jobs of several processes', () => {
  it('run once in each interval, even when three processes claim a job at the same moment', async () => {
    let runs = 0;
    const job = { name: 'shared', interval: HOUR, run: async () => void (runs += 1) };
    await whileClaiming(job, 3, () => expect(runs).toBe(0));
    for (let run = 1; run <= 5; run += 1) {
      await until(() => hasEnded('shared'));
      expect(runs).toBe(run);
      await makeDue('shared');
      await until(() => runs > run);
    }
    await Promise.all(processes.map(({ stop }) => stop(5_000)));
    expect(runs).toBe(6);
  });

  it('are taken over from a process that died during a job once its lease of 30 seconds has ended, and not before', async () => {
    const { job, runs, begun, proceed } = heldJob('orphan');
    const proxy = await startProxy(database.serviceUrl);
    start([job], proxy.url);
    await begun();
    await proxy.cut();
    start([job, beat]);
    await looks();
    expect(runs.begun).toBe(1);
    expect(await waitOf('orphan')).toBeLessThanOrEqual(LEASE);
    await sql.query(`UPDATE job_run SET due_at = due_at - interval '${LEASE} seconds' WHERE name = 'orphan'`);
    await until(() => runs.begun === 2);
    proceed();
  });

  it('are deleted from job_run if no process has run them for five minutes after they were due', async () => {
    await sql.query(`INSERT INTO job_run (name, started_at, due_at) SELECT name, now(), now() - wait
      FROM (VALUES ('removed', interval '6 minutes'), ('of a newer build', interval '4 minutes')) AS row (name, wait)`);
    start([beat]);
    await until(async () => !(await rowOf('removed')));
    expect(await rowOf('of a newer build')).toMatchObject({ failed: false });
  });
});

describe('a job', () => {
  it('keeps its lease, and neither runs twice at once in its process nor delays others while it takes longer than its interval', async () => {
    const { job, runs, begun, proceed } = heldJob('long', 0);
    await sql.query(`INSERT INTO job_run (name, started_at, ended_at, due_at) VALUES ('long', now(), now(), now())`);
    start([job, beat]);
    await begun();
    await makeDue('long');
    await until(async () => (await waitOf('long')) > LEASE / 2);
    await looks();
    // Another process has taken the job over, and has ended it.
    await sql.query(`UPDATE job_run SET ended_at = now(), due_at = now() WHERE name = 'long'`);
    await looks();
    expect(await waitOf('long')).toBeLessThanOrEqual(0);
    expect(runs).toEqual({ begun: 1, ended: 0 });
    proceed();
    await until(() => runs.ended > 1);
  });

  it('does not run again before its interval, also after a restart', async () => {
    let runs = 0;
    const daily = { name: 'daily', interval: 24 * HOUR, run: async () => void (runs += 1) };
    const { stop } = start([daily]);
    await until(() => hasEnded('daily'));
    await stop(5_000);
    start([daily, beat]);
    await looks();
    expect(runs).toBe(1);
    expect(Math.abs((await waitOf('daily')) - 24 * HOUR)).toBeLessThan(60);
  });

  it.each([
    ['its interval', 60, 60],
    ['five minutes, if its interval is longer', 24 * HOUR, 300],
  ])('that fails runs again after %s, and logs and stores no text of its error', async (_when, interval, retry) => {
    const name = `fragile-${interval}`;
    let runs = 0;
    const run = async (): Promise<void> => {
      runs += 1;
      if (runs === 1) throw Object.assign(new SyntaxError('jane@example.com is wrong'), { code: 'E_JANE' });
    };
    const { db } = start([{ name, interval, run }]);
    await until(() => hasEnded(name));
    expect(Math.abs((await waitOf(name)) - retry)).toBeLessThan(20);
    expect(await jobCounts(db)).toEqual({ due: 0, failed: 1, oldestSeconds: 0 });
    const causes = [{ name: 'SyntaxError', code: 'E_JANE' }];
    expect(logged).toMatchObject([{ level: 50, msg: 'job failed; its next run retries', job: name, causes }]);
    expect(JSON.stringify([logged, (await sql.query('SELECT * FROM job_run')).rows])).not.toContain('jane');
    await makeDue(name);
    await until(async () => (await jobCounts(db)).failed === 0);
    expect(runs).toBe(2);
    for (const outcome of ['failed', 'ok']) expect(await counted()).toContain(`{job="${name}",outcome="${outcome}"} 1`);
  });
});

describe('jobs on a database that fails', () => {
  it('run once the database answers, even if the first query for due jobs failed', async () => {
    const proxy = await startProxy(database.serviceUrl);
    await proxy.cut();
    start([beat], proxy.url);
    await until(() => logged.length > 1);
    expect(logged).toMatchObject(logged.map(() => ({ level: 40, msg: expect.stringContaining('due jobs run later') })));
    await proxy.mend();
    await looks();
    await proxy.close();
  });

  it('run again within 30 seconds if their end could not be recorded', async () => {
    const proxy = await startProxy(database.serviceUrl);
    let runs = 0;
    const run = async (): Promise<void> => {
      runs += 1;
      if (runs === 1) await proxy.cut();
    };
    start([{ name: 'cut', interval: HOUR, run }], proxy.url);
    await until(() => logged.length > 0);
    await proxy.mend();
    expect(await hasEnded('cut')).toBe(false);
    expect(await waitOf('cut')).toBeLessThanOrEqual(LEASE);
    await makeDue('cut');
    await until(() => hasEnded('cut'));
    expect(runs).toBe(2);
    await proxy.close();
  });
});

describe('stopping the jobs', () => {
  it('waits for the running job, and starts no other job', async () => {
    const { job, runs, begun, proceed } = heldJob('slow');
    const { stop } = start([job, beat]);
    await begun();
    await looks();
    const stopped = stop(20_000);
    const before = beats;
    expect(await Promise.race([stopped.then(() => 'stopped'), delay(200, 'waits')])).toBe('waits');
    expect(runs).toEqual({ begun: 1, ended: 0 });
    proceed();
    await stopped;
    expect(runs).toEqual({ begun: 1, ended: 1 });
    expect(beats).toBe(before);
    expect(await hasEnded('slow')).toBe(true);
  });

  it('does not start a job that it was about to claim, and leaves it due', async () => {
    const { job, runs } = heldJob('late');
    let stopped: Promise<unknown> | undefined;
    await whileClaiming(job, 1, (claiming) => (stopped = Promise.all(claiming.map(({ stop }) => stop(20_000)))));
    await stopped;
    expect(runs.begun).toBe(0);
    expect(await waitOf('late')).toBeLessThanOrEqual(0);
  });

  it('signals the running job to abort, leaves it due, and counts no failure', async () => {
    const run = async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) await delay(5);
      signal.throwIfAborted();
    };
    const { stop } = start([{ name: 'aborted', interval: HOUR, run }]);
    await until(() => rowOf('aborted'));
    await stop(20_000);
    expect(await rowOf('aborted')).toMatchObject({ ended: true, failed: false });
    expect(await waitOf('aborted')).toBeLessThanOrEqual(0);
    expect(logged).toMatchObject([{ level: 30, msg: 'job interrupted; its next run retries' }]);
    expect(await counted()).toContain('{job="aborted",outcome="interrupted"} 1');
  });

  it('ends after the time limit, and leaves the unfinished job to other processes', async () => {
    const { job, begun, proceed } = heldJob('endless');
    const { stop } = start([job]);
    await begun();
    await stop(50);
    expect(logged).toMatchObject([{ level: 40, jobs: 1 }]);
    expect(await hasEnded('endless')).toBe(false);
    expect(await waitOf('endless')).toBeLessThanOrEqual(LEASE);
    proceed();
  });
});
