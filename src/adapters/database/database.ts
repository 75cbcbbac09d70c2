import { hash } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../../../generated/prisma/client.js';
import { metrics } from '../../telemetry.js';
import { throwWithoutValues } from './databaseErrors.js';
import { openPool } from './openPool.js';
import { parsers, queriesOn, runTransaction, type Finished, type Queries, type Transaction } from './statements.js';
import { assertTenantNamed } from './tenantGuard.js';

/** The database as requests, jobs and commands use it. Statements, transactions and Prisma share one pool. */
export interface Database extends Queries {
  /** Commits when the work is done and its last statement has run; rolls back when either fails. */
  transaction<T>(work: (transaction: Transaction) => Promise<Finished<T>>): Promise<T>;
  /** What is read as of one moment, with one round trip for statements that are sent together. */
  snapshot<T>(work: (snapshot: Queries) => Promise<T>): Promise<T>;
  /** Plain queries of models, each committed by itself. It costs several statements, and no transaction has it. */
  readonly prisma: ReturnType<typeof guardedPrisma>;
  close(): Promise<void>;
}

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

const SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/** What a timer of Node can wait at most: 24 days. */
const MAX_MS = 2 ** 31 - 1;

/**
 * Nothing is connected until the first query. Each statement is prepared once for each connection, named by its text. A
 * database that does not answer fails a query within about `timeoutMs`, and `isUnavailable` knows the error.
 */
export function openDatabase(
  url: string,
  { poolSize = 10, timeoutMs = 5_000, pool: name = 'requests' }: DatabaseOptions = {},
): Database {
  const pool = openPool({
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
  metrics?.watchPool(name, pool);
  const nameOf = statementNames();
  const prisma = guardedPrisma(new PrismaPg(pool, { statementNameGenerator: nameOf }), timeoutMs);
  return {
    ...queriesOn(pool, nameOf),
    transaction: (work) => runTransaction(pool, nameOf, work),
    snapshot: (work) => runTransaction(pool, nameOf, async (db) => ({ result: await work(db), last: null }), SNAPSHOT),
    prisma,
    async close() {
      // Prisma ends a pool only if it has used it, and an open pool keeps a process alive.
      await prisma.$disconnect();
      await pool.end();
    },
  };
}

function statementNames() {
  const names = new Map<string, string>();
  return ({ sql }: { readonly sql: string }): string => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= preparedLimit || sql.length > preparedLength) return '';
    const name = hash('sha1', sql);
    names.set(sql, name);
    return name;
  };
}

/** Prisma, whose queries must name their tenant ({@link assertTenantNamed}) and whose errors quote no row. */
function guardedPrisma(adapter: PrismaPg, timeoutMs: number) {
  const client = new PrismaClient({
    adapter,
    // The default reads the caller's source file for every error message.
    errorFormat: 'minimal',
    // Prisma's timer would give the connection back while the rest of an operation with several statements still runs
    // on it. PostgreSQL has the limits: of a statement, and of a transaction that waits for its client.
    transactionOptions: { maxWait: 2 * timeoutMs, timeout: MAX_MS },
  });
  return client.$extends({
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
export async function databaseClock(db: Queries): Promise<() => Date> {
  const [row] = await db.everyTenant.rows<{ now: Date }>`SELECT clock_timestamp() AS now`;
  const aheadMs = row ? row.now.getTime() - Date.now() : 0;
  return () => new Date(Date.now() + aheadMs);
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
