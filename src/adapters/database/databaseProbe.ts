import { openPool } from './openPool.js';

/**
 * Asks the database whether it answers, on a connection of its own that opens with the first question: it does not
 * queue behind requests. The question rejects when there is no response within about `timeoutMs`.
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
