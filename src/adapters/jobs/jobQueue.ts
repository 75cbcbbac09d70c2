import { Prisma } from '../../../generated/prisma/client.js';
import type { Queries } from '../database/statements.js';

/** Numbers about the queue that all servers share. */
interface JobCounts {
  readonly due: number;
  readonly failed: number;
  readonly oldestSeconds: number;
}

/** A job's run that waits, is running or has failed; the queue does not keep successful ones. */
interface QueuedJob {
  readonly name: string;
  readonly state: 'due' | 'running' | 'waiting' | 'failed';
  readonly runAt: Date;
  readonly attempts: number;
}

const IS_DUE = Prisma.sql`run_at <= now() AND locked_at IS NULL AND attempts < max_attempts`;

/** All runs in the queue, the next one first. */
export function listJobs(db: Queries): Promise<QueuedJob[]> {
  return db.everyTenant.rows<QueuedJob>`
    SELECT task_identifier AS name, attempts::int, run_at AS "runAt",
      CASE WHEN locked_at IS NOT NULL THEN 'running' WHEN attempts >= max_attempts THEN 'failed'
        WHEN ${IS_DUE} THEN 'due' ELSE 'waiting' END AS state
    FROM graphile_worker.jobs ORDER BY run_at, id`;
}

/** Makes a job due now and restores its attempts, unless it is running. @returns whether a run waited or had failed */
export async function retryJob(db: Queries, name: string): Promise<boolean> {
  const retried = await db.everyTenant.rows`
    SELECT id FROM graphile_worker.reschedule_jobs(
      ARRAY(SELECT id FROM graphile_worker.jobs WHERE task_identifier = ${name}), run_at => now(), attempts => 0)`;
  return retried.length > 0;
}

export async function jobCounts(db: Queries): Promise<JobCounts> {
  const [counts] = await db.everyTenant.rows<JobCounts>`
    SELECT count(*) FILTER (WHERE is_due)::int AS due, count(*) FILTER (WHERE last_error IS NOT NULL)::int AS failed,
      coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE is_due)), 0)::float AS "oldestSeconds"
    FROM graphile_worker.jobs, LATERAL (SELECT ${IS_DUE} AS is_due) AS state`;
  return counts ?? { due: 0, failed: 0, oldestSeconds: 0 };
}
