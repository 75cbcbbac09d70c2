import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isUnavailable, failureOf } from '../database/databaseErrors.js';
import type { Queries } from '../database/statements.js';
import { endsWithin } from '../endsWithin.js';
import { metrics } from '../../telemetry.js';

/** Periodic work. It must tolerate two runs at once and a new run after an interruption. */
export interface ScheduledJob {
  /** The job's name, which is also its key in the table: a renamed job is a new job. */
  readonly name: string;
  /** Seconds from the end of a successful run to the next run. */
  readonly interval: number;
  /** @param signal aborts when the process stops; long work then ends after its current step */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

interface JobOptions {
  readonly db: Queries;
  readonly jobs: readonly ScheduledJob[];
  readonly log: Logger;
  /** Milliseconds between two queries for due jobs. */
  readonly pause?: number;
}

/** Seconds until other processes run the job of a process that died; several times `pause`, to spare a slow process. */
const LEASE = 30;
/** Maximum of seconds until a failed job runs again. */
const RETRY = 300;

/**
 * Runs jobs until it is stopped. Any number of processes may do this on one database: the process that claims a due job
 * in `job_run` runs it, and renews its lease. Without the database, it tries again.
 */
export function startJobs({ db, jobs, log, pause = 5_000 }: JobOptions) {
  const halt = new AbortController();
  const running = new Map<string, Promise<void>>();
  const logFailure = (error: unknown): void => {
    const level = isUnavailable(error) ? 'warn' : 'error';
    const reason = failureOf(error);
    log[level](
      reason,
      'job_run could not be read or changed; due jobs run later, once that works: see "scripts/ces doctor"',
    );
  };
  const run = async (job: ScheduledJob): Promise<void> => {
    const outcome = await outcomeOf(job, halt.signal, log);
    metrics?.jobRuns.inc({ job: job.name, outcome });
    await recordEnd(db, job, outcome).catch(logFailure);
    running.delete(job.name);
  };
  const runDueJobs = async (): Promise<void> => {
    await renew(db, [...running.keys()]);
    const claimed = await claim(db, jobs, running);
    for (const job of claimed) running.set(job.name, run(job));
  };
  const repeat = async (): Promise<void> => {
    while (!halt.signal.aborted) {
      await runDueJobs().catch(logFailure);
      await delay(pause, undefined, { signal: halt.signal }).catch(() => undefined);
    }
    await Promise.all(running.values());
  };
  const ended = repeat();
  return {
    /** Starts no more jobs, and waits up to `limit` milliseconds for running ones. Interrupted ones run again later. */
    async stop(limit: number): Promise<void> {
      halt.abort();
      if (!(await endsWithin(limit, ended)))
        log.warn({ jobs: running.size }, 'the jobs did not end in time; interrupted ones run again');
    },
  };
}

type Outcome = 'ok' | 'failed' | 'interrupted';

/** Runs a job. Logs a failure without its texts, which may quote data. */
async function outcomeOf({ name, run }: ScheduledJob, signal: AbortSignal, log: Logger): Promise<Outcome> {
  try {
    signal.throwIfAborted();
    await run(signal);
    return 'ok';
  } catch (error) {
    const [level, outcome] = signal.aborted ? (['info', 'interrupted'] as const) : (['error', 'failed'] as const);
    log[level]({ job: name, ...failureOf(error) }, `job ${outcome}; its next run retries`);
    return outcome;
  }
}

async function recordEnd({ everyTenant }: Queries, { name, interval }: ScheduledJob, outcome: Outcome): Promise<void> {
  const wait = { ok: interval, failed: Math.min(interval, RETRY), interrupted: 0 }[outcome];
  await everyTenant.run`
    UPDATE job_run SET ended_at = now(), failed = ${outcome === 'failed'}, due_at = now() + make_interval(secs => ${wait})
    WHERE name = ${name}`;
}

async function renew({ everyTenant }: Queries, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await everyTenant.run`
    UPDATE job_run SET due_at = now() + make_interval(secs => ${LEASE}) WHERE name = ANY (${names}) AND ended_at IS NULL`;
}

/** Claims the due jobs that do not run here. If none is due or obsolete, the statement only reads. */
async function claim(
  { everyTenant }: Queries,
  jobs: readonly ScheduledJob[],
  running: ReadonlyMap<string, unknown>,
): Promise<ScheduledJob[]> {
  const names = jobs.map(({ name }) => name);
  // Delete the rows of jobs that no longer exist, which doctor and metrics would show as late.
  const claimed = await everyTenant.rows<{ name: string }>`
    WITH obsolete AS (DELETE FROM job_run WHERE name <> ALL (${names}) AND due_at < now() - interval '5 minutes')
    INSERT INTO job_run (name, started_at, due_at)
    SELECT name, now(), now() + make_interval(secs => ${LEASE})
    FROM unnest(${names.filter((name) => !running.has(name))}::text[]) AS name
    WHERE name NOT IN (SELECT job_run.name FROM job_run WHERE due_at > now()) ORDER BY name
    ON CONFLICT (name) DO UPDATE SET started_at = excluded.started_at, ended_at = NULL, due_at = excluded.due_at
      WHERE job_run.due_at <= excluded.started_at
    RETURNING name`;
  return jobs.filter(({ name }) => claimed.some((row) => row.name === name));
}
