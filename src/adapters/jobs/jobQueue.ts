import { Prisma } from '../../../generated/prisma/client.js';
import type { Queries } from '../database/statements.js';

interface JobCounts {
  readonly due: number;
  readonly failed: number;
  readonly oldestSeconds: number;
}

const IS_DUE = Prisma.sql`run_at <= now() AND locked_at IS NULL AND attempts < max_attempts`;

/** Counts the jobs that are due or failed, on all servers, with the age of the oldest due job (0 without one). */
export async function jobCounts(db: Queries): Promise<JobCounts> {
  const [counts] = await db.everyTenant.rows<JobCounts>`
    SELECT count(*) FILTER (WHERE is_due)::int AS due, count(*) FILTER (WHERE last_error IS NOT NULL)::int AS failed,
      coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE is_due)), 0)::float AS "oldestSeconds"
    FROM graphile_worker.jobs, LATERAL (SELECT ${IS_DUE} AS is_due) AS state`;
  return counts ?? { due: 0, failed: 0, oldestSeconds: 0 };
}
