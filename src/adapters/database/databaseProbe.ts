import { openPool } from './openPool.js';

/**
 * Returns a function that checks whether the database answers. It has its own connection, opened by the first check, so
 * it does not queue behind requests. It rejects if there is no response within about `timeoutMs`.
 */
export function openDatabaseProbe(url: string, timeoutMs: number): () => Promise<unknown> {
  const pool = openPool({
    connectionString: url,
    application_name: 'clinical-encounter-probe',
    max: 1,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
    keepAlive: true,
  });
  return () => pool.query('SELECT 1');
}
