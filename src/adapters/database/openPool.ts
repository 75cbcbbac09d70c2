import { Pool, type PoolConfig } from 'pg';

/**
 * The only way to a pool. A session that ends fails the query that it runs, or is replaced if it is idle. The listeners
 * last as long as the connections: PostgreSQL may end a session between the answer that frees a connection and the code
 * that receives it, and an `error` event without a listener ends the process.
 */
export function openPool(config: PoolConfig): Pool {
  return new Pool(config).on('error', ignore).on('connect', (client) => void client.on('error', ignore));
}

const ignore = (): void => undefined;
