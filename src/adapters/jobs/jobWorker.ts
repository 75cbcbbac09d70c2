import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger as EngineLogger, parseCronItems, run, type Runner, type Task } from 'graphile-worker';
import type { ClientConfig, Pool } from 'pg';
import type { Logger } from 'pino';
import { endsWithin } from '../endsWithin.js';
import { sqlState } from '../database/databaseErrors.js';
import { openPool } from '../database/openPool.js';
import { withClient } from '../database/withClient.js';
import { describeCauses } from '../../failures.js';
import { metrics } from '../../telemetry.js';

/** Periodic work. It must tolerate two runs at once and a new run after an interruption. */
export interface ScheduledJob {
  /** The job's name, which is also its key in the engine's tables: a renamed job is a new job. */
  readonly name: string;
  /** When the job runs: minute, hour, day, month and weekday, in UTC. */
  readonly cron: string;
  /** @param signal aborts when the process stops; long work then ends after its current step */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

interface JobWorkerOptions {
  readonly url: string;
  readonly jobs: readonly ScheduledJob[];
  readonly log: Logger;
}

export interface JobWorker {
  /** Takes no more jobs and waits up to `limit` milliseconds for running ones; then returns those to the queue. */
  stop(limit: number): Promise<void>;
}

/** Maximum of concurrent jobs in a process. More than one, so that a long job does not delay the minutely ones. */
const CONCURRENCY = 3;
/** Maximum of attempts for a run, 3 to 55 s apart; the job's next scheduled run replaces one that still waits. */
const ATTEMPTS = 5;
/** Milliseconds between a worker's polls for jobs to retry; PostgreSQL's NOTIFY announces new jobs. */
const POLL_INTERVAL = 6_000;
/** Milliseconds before a failed engine is restarted. */
const RESTART = 1_000;
/** Milliseconds for the engine to record its last jobs' outcomes; if the database is down, it would wait forever. */
const GRACE_MS = 3_000;

/**
 * Runs jobs by graphile-worker, each run in only one of the processes on a database. If the database is lost, waits for
 * it. Failed runs are logged and retried; the engine's tables store only names. @throws the driver's error at the start
 */
export async function startJobWorker({ url, jobs, log }: JobWorkerOptions): Promise<JobWorker> {
  const halt = new AbortController();
  const halted = (): boolean => halt.signal.aborted;
  const running = new Set<Promise<unknown>>();
  const owners = new Set<string>();
  const pool = openJobPool(url);
  const surroundings = { halt: halt.signal, running, owners, log };
  const taskList = Object.fromEntries(jobs.map((job) => [job.name, taskOf(job, surroundings)]));
  const cronItems = jobs.map(({ name, cron }) => {
    const options = { jobKey: name, jobKeyMode: 'replace', maxAttempts: ATTEMPTS } as const;
    return { task: name, match: cron, options };
  });
  const start = async (): Promise<Runner> => {
    const events = new EventEmitter();
    const failed = once(events, 'worker:getJob:error');
    const runner = await run({
      pgPool: pool,
      events,
      taskList,
      parsedCronItems: parseCronItems(cronItems),
      logger: engineLogger(log),
      noHandleSignals: true,
      concurrency: CONCURRENCY,
      pollInterval: POLL_INTERVAL,
      // With a delay, a failure to record an outcome would be an unhandled rejection, which ends the process.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    });
    // An engine that once failed to read its tasks repeats that failure forever; only a new engine reads them again.
    void failed.then(() => runner.stop()).catch(() => undefined);
    return runner;
  };
  let runner = await start().catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });

  const keepRunning = async (): Promise<void> => {
    while (!halted()) {
      // Resolves when the engine ends, even by a failure, which the engine itself has logged.
      await runner.promise.catch(() => undefined);
      if (!halted()) log.warn('the job engine stopped and is restarted');
      let next: Runner | undefined;
      while (next === undefined && !halted()) {
        await delay(RESTART, undefined, { signal: halt.signal }).catch(() => undefined);
        next = await handBack(pool, owners)
          .then(start)
          .catch(() => undefined);
      }
      runner = next ?? runner;
    }
    // Stop an engine that started during the shutdown; `stop` has ended any earlier one.
    await runner.stop().catch(() => undefined);
  };
  const kept = keepRunning();

  const stop = async (limit: number): Promise<void> => {
    halt.abort();
    // `runner.stop` rejects if the engine has already stopped.
    const stopped = runner.stop().catch(() => undefined);
    if (!(await endsWithin(limit, Promise.allSettled(running)))) {
      log.warn({ jobs: running.size }, 'jobs were interrupted and will run again');
      // Close the engine's connections first: it could otherwise fetch, and so lock, a job again.
      await endsWithin(GRACE_MS, pool.end());
      const handedBack = withClient(connection(url), (client) => handBack(client, owners)).catch(() => undefined);
      await endsWithin(GRACE_MS, handedBack);
    } else {
      await endsWithin(GRACE_MS, Promise.all([stopped, kept]));
      await endsWithin(GRACE_MS, pool.end());
    }
  };
  let ended: Promise<void> | undefined;
  return { stop: (limit) => (ended ??= stop(limit)) };
}

/** Unlocks jobs of engines that are gone: graphile-worker itself would keep them locked for four hours. */
async function handBack(database: Pick<Pool, 'query'>, owners: ReadonlySet<string>): Promise<void> {
  await database.query('SELECT graphile_worker.force_unlock_workers($1)', [[...owners]]);
}

const connection = (url: string): ClientConfig => ({
  connectionString: url,
  application_name: 'clinical-encounter-jobs',
  connectionTimeoutMillis: 5_000,
  query_timeout: 30_000,
  keepAlive: true,
});

function openJobPool(url: string): Pool {
  // Two more than concurrent jobs: one connection listens for new runs, one writes the schedule.
  const pool = openPool({ ...connection(url), max: CONCURRENCY + 2 });
  metrics?.watchPool('jobs', pool);
  return pool;
}

interface TaskSurroundings {
  readonly halt: AbortSignal;
  readonly running: Set<Promise<unknown>>;
  /** The names under which this process's engines lock jobs. */
  readonly owners: Set<string>;
  readonly log: Logger;
}

function taskOf(job: ScheduledJob, { halt, running, owners, log }: TaskSurroundings): Task {
  let isRunning = false;
  return async (_payload, { job: { attempts, locked_by: owner } }) => {
    halt.throwIfAborted();
    if (owner !== null) owners.add(owner);
    // A job that takes longer than its period must not occupy the slots of other jobs.
    if (isRunning) return;
    isRunning = true;
    const work = (async () => job.run(halt))();
    running.add(work);
    try {
      await work;
      metrics?.jobRuns.inc({ job: job.name, outcome: 'ok' });
      log.debug({ job: job.name }, 'job done');
    } catch (error) {
      const [level, outcome] = halt.aborted ? (['info', 'interrupted'] as const) : (['error', 'failed'] as const);
      metrics?.jobRuns.inc({ job: job.name, outcome });
      const reason = { sqlstate: sqlState(error), causes: describeCauses(error) };
      log[level]({ job: job.name, attempt: attempts, ...reason }, `job ${outcome}`);
      // The engine stores only the message in its table, so it must not contain the cause.
      throw new Error(`${job.name} failed`, { cause: error });
    } finally {
      running.delete(work);
      isRunning = false;
    }
  };
}

/** Logs the engine's errors without their texts, which may quote data. Errors of jobs are logged where they occur. */
function engineLogger(log: Logger): EngineLogger {
  return new EngineLogger(() => (_level, _message, meta = {}) => {
    const error = meta['failure'] === true ? undefined : (meta['error'] ?? meta['fatalError']);
    if (error !== undefined) log.warn({ causes: describeCauses(error) }, 'error in the job engine');
  });
}
