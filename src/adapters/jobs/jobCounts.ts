import type { Queries } from '../database/statements.js';

/** Counts the jobs that are due or failed, on all servers, with the age of the oldest due job (0 without one). */
export const jobCounts = ({ everyTenant }: Queries) =>
  everyTenant.row<{ due: number; failed: number; oldestSeconds: number }>`
    SELECT count(*) FILTER (WHERE due_at <= now())::int AS due, count(*) FILTER (WHERE failed)::int AS failed,
      greatest(extract(epoch FROM now() - min(due_at)), 0)::float AS "oldestSeconds" FROM job_run`;
