import { Pool, type DatabaseError, type PoolConfig } from 'pg';

/**
 * The only way to open a pool. Its listeners stay: PostgreSQL may end a session between the response and the code that
 * receives it, and an `error` event without listener ends the process.
 */
export function openPool(config: PoolConfig): Pool {
  return new Pool(config).on('error', ignore).on('connect', (client) => {
    client.on('error', ignore);
    client.connection.on('errorMessage', ({ code }: DatabaseError) => {
      if (code === READ_ONLY) void client.end();
    });
  });
}

/** The primary was demoted after the session began: end it, so that the next caller gets a new one. */
const READ_ONLY = '25006';

const ignore = (): void => undefined;
