import { Pool, type DatabaseError, type PoolConfig } from 'pg';

/**
 * The only way to open a pool. The error listeners stay on idle connections, too: PostgreSQL may end a session at any
 * moment, and an `error` event without listener ends the process.
 */
export function openPool(config: PoolConfig): Pool {
  return new Pool(config).on('error', ignore).on('connect', (client) => {
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

/** SQLSTATE of a change on a demoted primary: end the session, so that the next caller gets the new primary. */
const READ_ONLY = '25006';

/**
 * The function in PostgreSQL that warns when the wait for a synchronous standby is cancelled (`pg_cancel_backend`).
 * PostgreSQL then reports success, although a failover would lose the commit. The connection is therefore broken, so
 * that the caller gets an error instead.
 */
const STANDBY_WAIT = 'SyncRepWaitForLSN';

const ignore = (): void => undefined;
