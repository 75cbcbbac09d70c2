import { hash } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import { DatabaseError, Pool } from 'pg';
import { Prisma, PrismaClient } from '../../../generated/prisma/client.js';
import { metrics } from '../../telemetry.js';
import {
  parsers,
  runTransaction,
  send,
  type Atomic,
  type Finished,
  type Statements,
  type TransactionStatements,
} from './statements.js';
import { assertTenantFirst, assertTenantNamed, isRecord } from './tenantGuard.js';

/** The client that domain code queries with: guarded by {@link assertTenantNamed}, pooled, statements prepared. */
export type Database = ReturnType<typeof openDatabase>;

/** What reads: a {@link Database} or a {@link Transaction}. */
export type Queries = Omit<
  Database,
  '$connect' | '$disconnect' | '$extends' | '$on' | '$use' | '$statement' | '$statements'
>;

/** Queries of one transaction. */
export type Transaction = Queries & Atomic;

interface DatabaseOptions {
  /** Most connections at once; default 10. */
  readonly poolSize?: number;
  /** Longest time for a connection, and for a statement, in milliseconds; default 5000. */
  readonly timeoutMs?: number;
  /** What it is called in metrics. */
  readonly pool?: 'requests' | 'webhooks';
}

/** More shapes than the service has; beyond it statements are simply not kept (each costs memory per connection). */
const preparedLimit = 300;
/** Bulk inserts of the catalog import: every row count is a shape of its own, used once. */
const preparedLength = 20_000;

/** What a timer of Node can wait at most: 24 days. */
const MOST_MS = 2 ** 31 - 1;

/**
 * Nothing is connected until the first query. Each statement is prepared once for each connection, named by its text. A
 * database that does not answer fails a query within about `timeoutMs`, and {@link isUnavailable} knows the error.
 */
export function openDatabase(
  url: string,
  { poolSize = 10, timeoutMs = 5_000, pool: name = 'requests' }: DatabaseOptions = {},
) {
  const names = new Map<string, string>();
  const pool = new Pool({
    connectionString: withSettings(url),
    application_name: 'clinical-encounter-service',
    max: poolSize,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: 0.9 * timeoutMs,
    // The client's own clock, for a server that no longer answers at all: later than the server's.
    query_timeout: timeoutMs,
    idle_in_transaction_session_timeout: 2 * timeoutMs,
    idleTimeoutMillis: 300_000,
    maxLifetimeSeconds: 3_600,
    keepAlive: true,
    pipeline: true,
    types: parsers,
  });
  // An idle connection that ends is replaced; without a listener it would end the process.
  pool.on('error', () => undefined);
  metrics?.watchPool(name, pool);
  const statementNameGenerator = ({ sql }: { sql: string }): string => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= preparedLimit || sql.length > preparedLength) return '';
    const name = hash('sha1', sql);
    names.set(sql, name);
    return name;
  };
  const client = new PrismaClient({
    adapter: new PrismaPg(pool, { statementNameGenerator, disposeExternalPool: true }),
    // The default reads the caller's source file for every error message.
    errorFormat: 'minimal',
    // Prisma's timer would give the connection back while the rest of an operation with several statements still runs
    // on it. PostgreSQL has the limits: of a statement, and of a transaction that waits for its client.
    transactionOptions: { maxWait: 2 * timeoutMs, timeout: MOST_MS },
  });
  return client.$extends({
    client: {
      /** See {@link Statements}; in a transaction of Prisma's it is one of its statements. */
      async rows<Row extends object>(sql: Prisma.Sql): Promise<Row[]> {
        const statement = assertTenantFirst(sql);
        const db = Prisma.getExtensionContext(this);
        if (!('$connect' in db)) return (db as unknown as Statements).$queryRaw<Row[]>(sql);
        return (await send<Row>(pool, statementNameGenerator, statement)).rows;
      },
      /** One statement by itself, whose rows name their tenants. */
      $statement: async (sql: Prisma.Sql): Promise<void> => {
        await send(pool, statementNameGenerator, sql);
      },
      /** A transaction of statements alone, which costs half of Prisma's. */
      $statements: <T>(work: (db: TransactionStatements) => Promise<Finished<T>>): Promise<T> =>
        runTransaction(pool, statementNameGenerator, work),
    },
    query: {
      async $allOperations({ model, operation, args, query }) {
        assertTenantNamed(model, operation, args);
        const result: unknown = await query(args).catch(throwWithoutValues);
        return result;
      },
    },
  });
}

/** The database's clock, which is the same for everybody who works on it. It is asked once. */
export async function databaseClock(db: Database): Promise<() => Date> {
  const [row] = await db.$queryRaw<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
  const aheadMs = row ? row.now.getTime() - Date.now() : 0;
  return () => new Date(Date.now() + aheadMs);
}

/** Whether the error is a violation of this unique constraint or index, named as in the migrations. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  if (error instanceof DatabaseError) return error.code === '23505' && error.constraint === constraint;
  const violated = driverError(error);
  if (violated?.['kind'] !== 'UniqueConstraintViolation' || !isRecord(violated['constraint'])) return false;
  return violated['constraint']['index'] === constraint;
}

/** PostgreSQL's code of an error; undefined when the error is not PostgreSQL's. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof DatabaseError ? error.code : driverError(error)?.['originalCode'];
  return typeof code === 'string' ? code : undefined;
}

/** Whether the error means that a lock was not free in the time that `lock_timeout` gives (SQLSTATE 55P03). */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

/** Whether the error means that the database (or the way to it) is down, full or too slow: worth another try later. */
export function isUnavailable(error: unknown): boolean {
  if (!isRecord(error)) return false;
  const cause = driverError(error);
  if (unavailableKinds.has(String(cause?.['kind']))) return true;
  // Not all failures of a connection pass the adapter: some come as pg or the operating system made them.
  const code = cause?.['originalCode'] ?? error['code'] ?? '';
  if (typeof code !== 'string') return false;
  return unavailableCode.test(code) || (code === '' && unavailableMessage.test(String(error['message'])));
}

const unavailableKinds = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
  'TlsConnectionError',
  'AuthenticationFailed',
  'DatabaseAccessDenied',
  'DatabaseDoesNotExist',
]);
/**
 * SQLSTATE 08 connection, 53 resources, 57P0x shut down or starting, 57014 statement timeout, 25P03 idle transaction,
 * 55P03 lock timeout, 40P01 deadlock, 40001 serialization; Prisma P2028 no transaction in time; the operating system's
 * network errors.
 */
const unavailableCode = new RegExp(
  '^(08...|53...|57P0.|57014|25P03|55P03|40P01|40001|P2028' +
    '|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$',
);
const unavailableMessage = new RegExp(
  '^(timeout exceeded when trying to connect|Query read timeout' +
    '|Connection terminated|Client has encountered a connection error|Client was closed)',
);

/** What PostgreSQL said, as Prisma 7 with adapter-pg carries it: `error.meta.driverAdapterError.cause`. */
function driverError(error: unknown): Record<string, unknown> | undefined {
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return undefined;
  const wrapped = error.meta?.['driverAdapterError'];
  return isRecord(wrapped) && isRecord(wrapped['cause']) ? wrapped['cause'] : undefined;
}

/** PostgreSQL's detail quotes the row ("Failing row contains …"): health data, which must not reach a log. */
function throwWithoutValues(error: unknown): never {
  const cause = driverError(error);
  if (cause !== undefined) delete cause['detail'];
  throw error;
}

/**
 * The session's time zone is UTC, whatever the server's is: the adapter sends and reads times without their offset. And a
 * statement has one plan, whatever its values are: the one that is tested and measured, not one for what a value seems to be.
 */
function withSettings(url: string): string {
  const address = new URL(url);
  const own = '-c TimeZone=UTC -c plan_cache_mode=force_generic_plan';
  address.searchParams.set('options', `${address.searchParams.get('options') ?? ''} ${own}`.trim());
  return address.href;
}
