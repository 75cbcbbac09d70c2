import type { Queries } from '../database/statements.js';

/** What the engine has to do at the moment, on all servers together. */
interface JobCounts {
  /** Jobs whose time has come. */
  readonly due: number;
  /** Jobs whose last run failed. */
  readonly failed: number;
  /** Seconds that the oldest due job has been waiting. */
  readonly oldestSeconds: number;
}

/** Asks the engine's tables. */
export async function jobCounts(db: Queries): Promise<JobCounts> {
  const [counts] = await db.everyTenant.rows<JobCounts>`
    SELECT count(*) FILTER (WHERE is_due)::int AS due, count(*) FILTER (WHERE last_error IS NOT NULL)::int AS failed,
      coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE is_due)), 0)::float AS "oldestSeconds"
    FROM graphile_worker.jobs,
      LATERAL (SELECT run_at <= now() AND locked_at IS NULL AND attempts < max_attempts AS is_due) AS state`;
  return counts ?? { due: 0, failed: 0, oldestSeconds: 0 };
}
