import type { Queries } from '../database/statements.js';

interface JobCounts {
  readonly due: number;
  readonly failed: number;
  readonly oldestSeconds: number;
}

/** Counts the jobs that are due or failed, on all servers, with the age of the oldest due job (0 without one). */
export async function jobCounts({ everyTenant }: Queries): Promise<JobCounts> {
  return everyTenant.row`
    SELECT count(*) FILTER (WHERE due_at <= now())::int AS due, count(*) FILTER (WHERE failed)::int AS failed,
      greatest(extract(epoch FROM now() - min(due_at)), 0)::float AS "oldestSeconds" FROM job_run`;
}
