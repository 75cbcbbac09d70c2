import { openPool } from '../adapters/database/openPool.js';
import { endsWithin } from '../adapters/endsWithin.js';
import { sharedFor } from './sharedFor.js';

/** Timeout in milliseconds; load balancers treat a slower database as down. */
const TIMEOUT_MS = 2_000;
const CACHE_MS = 1_000;

/**
 * Creates the check whether the database answers. It runs at most once per second, regardless of the number of probes,
 * and on its own connection: it never queues behind requests.
 */
export function databaseCheck(url: string): () => Promise<boolean> {
  const pool = openPool({
    connectionString: url,
    application_name: 'clinical-encounter-probe',
    max: 1,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
    keepAlive: true,
  });
  return sharedFor(CACHE_MS, () => endsWithin(TIMEOUT_MS, pool.query('SELECT 1')).catch(() => false));
}
