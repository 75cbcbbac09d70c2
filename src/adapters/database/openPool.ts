import { Pool, type DatabaseError, type PoolConfig } from 'pg';

/**
 * The service's only way to open a pool. The error listeners stay on idle connections, too: PostgreSQL may end a session
 * at any moment, and an `error` event without listener ends the process.
 */
export function openPool(config: PoolConfig): Pool {
  return new Pool(config).on('error', ignore).on('connect', (client) => {
    client.on('error', ignore);
    const { connection } = client;
    connection.on('errorMessage', ({ code }: DatabaseError) => {
      if (code === READ_ONLY) void client.end();
    });
    connection.on('notice', ({ routine = '' }: DatabaseError) => {
      const doubt = commitWarnings.get(routine);
      if (doubt !== undefined) connection.emit('error', new Error(`Connection terminated: ${doubt}`));
    });
  });
}

/** SQLSTATE of a change on a demoted primary: end the session, so that the next caller gets the new primary. */
const READ_ONLY = '25006';

/**
 * The functions that warn of a commit that PostgreSQL then reports as a success, with the reason: the wait for a synchronous
 * standby was cancelled (`pg_cancel_backend`), so that a failover would lose the commit; or a worker of Citus refused rows
 * that were copied to it. The connection is therefore broken, so that the caller gets an error instead.
 */
const commitWarnings: ReadonlyMap<string, string> = new Map([
  ['SyncRepWaitForLSN', 'the wait for synchronous replication was canceled'],
  ['FinishRemoteTransactionCommit', 'a node did not confirm the commit'],
]);

const ignore = (): void => undefined;
