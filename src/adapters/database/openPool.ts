import { Pool, type DatabaseError, type PoolConfig } from 'pg';

/**
 * The only way to a pool. A session that ends fails the query that it runs, or is replaced if it is idle. The listeners
 * last as long as the connections: PostgreSQL may end a session between the answer that frees a connection and the code
 * that receives it, and an `error` event without a listener ends the process.
 */
export function openPool(config: PoolConfig): Pool {
  return new Pool(config).on('error', ignore).on('connect', (client) => {
    client.on('error', ignore);
    client.connection.on('errorMessage', ({ code }: DatabaseError) => {
      if (code === READ_ONLY) void client.end();
    });
  });
}

/** Ends its session, so that the next caller gets a new one: this one was opened before its primary was demoted. */
const READ_ONLY = '25006';

const ignore = (): void => undefined;
