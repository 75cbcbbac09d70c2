import { Pool, type DatabaseError, type PoolConfig } from 'pg';
import { clientOf } from './primary.js';

/**
 * The only way to open a pool. Its listeners stay: PostgreSQL may end a session between the response and the code that
 * receives it, and an `error` event without listener ends the process.
 */
export function openPool(config: PoolConfig): Pool {
  return new Pool({ ...config, Client: clientOf(config) }).on('error', ignore).on('connect', (client) => {
    client.on('error', ignore);
    const { connection } = client;
    connection.on('errorMessage', ({ code }: DatabaseError) => {
      if (code === READ_ONLY) void client.end();
    });
    connection.on('notice', ({ routine }: DatabaseError) => {
      if (routine === STANDBY_WAIT)
        connection.emit('error', new Error('Connection terminated: no standby has the commit'));
    });
  });
}

/** The primary was demoted after the session began: end it, so that the next caller gets a new one. */
const READ_ONLY = '25006';

/**
 * PostgreSQL's function that warns when its wait for a synchronous standby is cancelled (`pg_cancel_backend`). It then reports success, although
 * a failover would lose the commit: the caller must not learn that success, so its statement fails with the connection.
 */
const STANDBY_WAIT = 'SyncRepWaitForLSN';

const ignore = (): void => undefined;
