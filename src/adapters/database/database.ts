import { hash } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../../../generated/prisma/client.js';
import { lastLine } from '../../failures.js';
import { metrics } from '../../telemetry.js';
import { throwWithoutValues } from './databaseErrors.js';
import { openPool } from './openPool.js';
import { parsers, queriesOn, runTransaction, type Finished, type Queries, type Transaction } from './statements.js';
import { statementGuard } from './statementGuard.js';
import { assertTenantNamed, relationsOf, tenantTablesOf } from './tenantGuard.js';

type GuardedPrisma = ReturnType<typeof guardedPrisma>;

/** Queries of Prisma's models, in one of its transactions or not. */
export type Models = Omit<GuardedPrisma, '$connect' | '$disconnect' | '$extends' | '$on' | '$transaction' | '$use'>;

/** Reads by Prisma's models or by statements: in a snapshot, or each on its own. */
export interface Reads extends Queries {
  readonly prisma: Models;
}

/** The database for requests, jobs and commands. Statements, transactions and Prisma share one pool. */
export interface Database extends Reads {
  /** Commits after the work and its last statement have succeeded; rolls back if either fails. */
  transaction<T>(work: (transaction: Transaction) => Promise<Finished<T>>): Promise<T>;
  /** Runs reads that all see the same state of the database. */
  snapshot<T>(work: (snapshot: Reads) => Promise<T>): Promise<T>;
  /** Prisma's model queries, each committed separately. Such a query costs as much as several plain statements. */
  readonly prisma: GuardedPrisma;
  close(): Promise<void>;
}

interface DatabaseOptions {
  /** Maximum of connections; default 10. */
  readonly poolSize?: number;
  /** Milliseconds, for getting a connection and for each statement; default 5000. */
  readonly timeoutMs?: number;
  /** Whether the URL leads to a pooler in transaction mode, which may run each transaction in another session. */
  readonly isPooled?: boolean;
  /** The pool's name in metrics. */
  readonly pool?: 'requests' | 'webhooks' | 'jobs';
}

/** Maximum of prepared statements, which cost memory per connection; the service has fewer different ones. */
const preparedLimit = 300;
/** Longer texts are not prepared: bulk inserts of the catalog import differ by row count and are used once. */
const preparedLength = 20_000;

/** Session settings. UTC, because times are sent and read without offset; generic plans, which measured faster. */
const SETTINGS = { TimeZone: 'UTC', plan_cache_mode: 'force_generic_plan' };
/** On Citus: plan_cache_mode auto, because generic plans cannot be distributed; SET LOCAL propagates to all nodes. */
export const SETTINGS_ON_CITUS = `SELECT set_config('plan_cache_mode', 'auto', false),
  set_config('citus.propagate_set_commands', 'local', false) FROM pg_extension WHERE extname = 'citus'`;
/** PostgreSQL's time limits for a session. `lock_timeout` is the shortest: its error says that a lock was the cause. */
const limitsFor = (timeoutMs: number) => ({
  lock_timeout: 0.8 * timeoutMs,
  statement_timeout: 0.9 * timeoutMs,
  idle_in_transaction_session_timeout: 2 * timeoutMs,
});
const TIMEOUT_MS = 5_000;

/** Connects at the first query. Without an answer, a query fails after `timeoutMs` with an `isUnavailable` error. */
export function openDatabase(
  url: string,
  { poolSize = 10, timeoutMs = TIMEOUT_MS, isPooled = false, pool: name = 'requests' }: DatabaseOptions = {},
): Database {
  const pool = openPool({
    connectionString: isPooled ? url : withSettings(url),
    application_name: 'clinical-encounter-service',
    max: poolSize,
    connectionTimeoutMillis: timeoutMs,
    ...(isPooled ? {} : limitsFor(timeoutMs)),
    // Set on the client, later than the server's own limit: it applies when the server does not answer at all.
    query_timeout: timeoutMs,
    idleTimeoutMillis: 300_000,
    maxLifetimeSeconds: 3_600,
    keepAlive: true,
    pipeline: true,
    types: parsers,
  });
  // Sent together with the first statement of the connection, which reports the error if the connection is broken.
  if (!isPooled) pool.on('connect', (client) => void client.query(SETTINGS_ON_CITUS).catch(() => undefined));
  metrics?.watchPool(name, pool);
  const nameOf = isPooled ? () => '' : statementNames();
  const prisma = guardedPrisma(
    new PrismaPg(pool, { statementNameGenerator: (statement) => (hasList(statement) ? '' : nameOf(statement)) }),
  );
  // Longer than the limits of the pool and of a statement, so that their errors come first.
  const snapshot = { isolationLevel: 'RepeatableRead', maxWait: 2 * timeoutMs, timeout: 2 * timeoutMs } as const;
  const preparation = { nameOf, guard: statementGuard(tenantTablesOf(prisma)) };
  return {
    ...queriesOn(pool, preparation),
    transaction: (work) => runTransaction(pool, preparation, work),
    snapshot: (work) =>
      prisma.$transaction((tx) => work({ prisma: tx, ...queriesOn({ query: rawQueryOn(tx) }, preparation) }), snapshot),
    prisma,
    async close() {
      // Prisma does not end a pool that it was given, and an open pool keeps the process alive.
      await prisma.$disconnect();
      await pool.end();
    },
  };
}

/** Runs statements in a transaction of Prisma's, which has the connection. */
const rawQueryOn =
  (tx: Models) =>
  async <Row>({ text, values }: { readonly text: string; readonly values: readonly unknown[] }) => {
    const rows = await tx.$queryRawUnsafe<Row[]>(text, ...values);
    return { rows, rowCount: rows.length };
  };

const needed = Object.entries({ ...SETTINGS, ...limitsFor(TIMEOUT_MS) });

/** SET statements with which an operator's pooler must begin each session. */
export const POOLER_SETTINGS = needed.map(([name, value]) => `SET ${name} = ${value}`).join('; ');

/** Checks a pooler's sessions, because a pooler does not pass on settings. @throws Error naming the missing settings */
export async function checkPooler({ everyTenant }: Queries): Promise<void> {
  const found = await everyTenant.rows<{ name: string; setting: string }>`
    SELECT name, setting FROM pg_settings WHERE name = ANY (${needed.map(([name]) => name)})
    UNION ALL SELECT 'plan_cache_mode', ${SETTINGS.plan_cache_mode} FROM pg_extension WHERE extname = 'citus'`.catch(
    (cause: unknown) => {
      throw new Error(
        `The pooler at DATABASE_URL cannot be used: ${lastLine(cause)}. Start it, or correct its configuration or DATABASE_URL.`,
        { cause },
      );
    },
  );
  const isSet = ([name, value]: [string, string | number]): boolean =>
    found.some((row) => row.name === name && row.setting === String(value));
  if (needed.every(isSet)) return;
  const missing = needed.filter((one) => !isSet(one)).map(([name]) => name);
  throw new Error(
    `Sessions of the pooler at DATABASE_URL have wrong values of ${missing.join(', ')}. In PgBouncer, give the database connect_query='${POOLER_SETTINGS}', on Citus without plan_cache_mode, and reload PgBouncer. If DATABASE_URL is no pooler, unset DATABASE_DIRECT_URL.`,
  );
}

/** Whether a statement of Prisma's has a list of parameters. Its text depends on the length, so it is not prepared. */
const hasList = ({ sql }: { readonly sql: string }): boolean => /\bIN \(\$\d+,/.test(sql);

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

/** Prisma's client. Its queries must name their tenant ({@link assertTenantNamed}), and its errors quote no row. */
function guardedPrisma(adapter: PrismaPg) {
  // With the default format, Prisma would read the caller's source file for each error message.
  const client = new PrismaClient({ adapter, errorFormat: 'minimal' });
  const relations = relationsOf(client);
  return client.$extends({
    query: {
      async $allOperations({ model, operation, args, query }) {
        assertTenantNamed(model, operation, args, relations);
        const result: unknown = await query(args).catch(throwWithoutValues);
        return result;
      },
    },
  });
}

/** The database server's clock, common to all processes: the local clock plus a difference measured once. */
export async function databaseClock(db: Queries): Promise<() => Date> {
  const [row] = await db.everyTenant.rows<{ now: Date }>`SELECT clock_timestamp() AS now`;
  const aheadMs = row ? row.now.getTime() - Date.now() : 0;
  return () => new Date(Date.now() + aheadMs);
}

function withSettings(url: string): string {
  const address = new URL(url);
  const own = Object.entries(SETTINGS)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
  address.searchParams.set('options', `${address.searchParams.get('options') ?? ''} ${own}`.trim());
  return address.href;
}
