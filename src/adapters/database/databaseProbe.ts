import { openPool } from './openPool.js';

/** Creates a check whether the database answers in time, on its own connection: it never queues behind requests. */
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
