import { Prisma } from '../../../generated/prisma/client.js';
import type { Reads } from '../../adapters/database/database.js';
import { isAnswer, failureOf } from '../../adapters/database/databaseErrors.js';
import type { Queries, Transaction } from '../../adapters/database/statements.js';
import type { Context, DomainContext, Services } from '../../context.js';
import { Problem } from '../../problem.js';
import { takeKey } from './idempotency.js';
import { unitOfWorkStatement, type UnitOfWork } from './unitOfWork.js';

/** The context of work in a transaction. Only functions of this file create it, so such work needs a transaction. */
export interface TransactionContext extends Omit<DomainContext, 'db'>, UnitOfWork {
  readonly db: Transaction;
}

/** The context of sweeps and deliveries. They have a log, because they log a failure and continue with the next row. */
export interface BackgroundContext extends DomainContext, Pick<Services, 'log'> {
  /** Aborts when the process stops. */
  readonly signal?: AbortSignal;
}

/** The context of a transaction for a caller's request. */
export type CallerContext = TransactionContext & Pick<Context, 'caller'>;

/** The context of statements without a caller, inside or outside of a transaction. */
export type QueryContext = Omit<DomainContext, 'db'> & { readonly db: Queries };

/** The context of reads for a caller, inside or outside of a transaction. */
export type ReadContext = QueryContext & Pick<Context, 'caller'>;

/** The context of reads by Prisma's models for a caller, in one snapshot or without one. */
export type ModelContext = Omit<ReadContext, 'db'> & { readonly db: Reads };

/** The part of a context that a statement for a caller needs. */
export type LookupContext = Pick<ReadContext, 'caller' | 'db'>;

/** A clock that is ahead of another one: that of a tenant, compared with real time (R-74). */
export function aheadOf(now: () => Date, aheadMs: number): () => Date {
  return () => new Date(now().getTime() + aheadMs);
}

/** Runs work in a transaction, which commits when the work resolves and rolls back when it rejects. */
export function inTransaction<T>(
  { db, now, newId, randomBytes }: DomainContext,
  work: (context: TransactionContext) => Promise<T>,
): Promise<T> {
  return db.transaction((transaction) =>
    collecting((unit) => work({ db: transaction, now, newId, randomBytes, ...unit })),
  );
}

/**
 * Runs the work of a caller's request in a transaction. Wakes the webhook deliveries if the work records events.
 * @param work receives `isFirst`: whether the request is the first with its Idempotency-Key, or has none
 * @throws Problem idempotency_in_progress
 */
export async function inCallerTransaction<T>(
  context: Context,
  work: (context: CallerContext, isFirst: boolean) => Promise<T>,
): Promise<T> {
  const { db, newId, randomBytes, caller } = context;
  const { result, hasEvents } = await db.transaction(async (transaction) => {
    const { now, isFirst } = await begin(context, transaction);
    return collecting(async (unit) => {
      const result = await work({ db: transaction, now, newId, randomBytes, caller, ...unit }, isFirst);
      return { result, hasEvents: unit.events.length > 0 };
    });
  });
  if (hasEvents) context.wakeDeliveries();
  return result;
}

/**
 * Processes one batch of each tenant that has work, and repeats this while a batch leaves work: a tenant with many rows
 * delays the others by one batch. A tenant whose batch PostgreSQL rejects is logged and left to the next run.
 * @param due the tenants that have work now
 * @param batch returns whether its tenant may have more work
 * @throws every other error of a batch, because other tenants could have it, too; the reason of `signal`
 */
export async function inTurns<Tenant extends { readonly tenantId: string }>(
  { log, signal }: Pick<BackgroundContext, 'log' | 'signal'>,
  due: () => Promise<readonly Tenant[]>,
  batch: (tenant: Tenant) => Promise<boolean>,
): Promise<void> {
  const failed = new Set<string>();
  for (let hasMore = true; hasMore;) {
    hasMore = false;
    for (const tenant of await due()) {
      const { tenantId } = tenant;
      signal?.throwIfAborted();
      if (failed.has(tenantId)) continue;
      try {
        if (await batch(tenant)) hasMore = true;
      } catch (error) {
        if (!isAnswer(error)) throw error;
        failed.add(tenantId);
        const reason = failureOf(error);
        log.error({ tenantId, ...reason }, 'a job failed for this tenantId; its next run retries');
      }
    }
  }
}

/** Collects the events, audit rows and deferred changes of some work into the last statement of its transaction. */
async function collecting<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<{ result: T; last: Prisma.Sql | null }> {
  const unit: UnitOfWork = { events: [], audited: [], changes: [] };
  const result = await work(unit);
  return { result, last: unitOfWorkStatement(unit) };
}

/**
 * Takes the request's Idempotency-Key, if any. In a sandbox, first prevents a reset, which deletes keys, and reads the
 * clock (R-76).
 */
async function begin({ caller, idempotency, now, realNow }: Context, db: Transaction) {
  const [clock, isFirst] = await Promise.all([
    caller.tenantMode === 'live' ? null : lockClock(db, caller.tenantId),
    idempotency ? takeKey({ db, caller }, idempotency) : true,
  ]);
  return { now: clock === null ? now : aheadOf(realNow, clock), isFirst };
}

/** Prevents a reset of the sandbox until the commit. @returns the milliseconds that its clock is ahead */
async function lockClock(db: Transaction, tenantId: string): Promise<number> {
  const [row] = await db.of(tenantId).rows<{ aheadMs: bigint }>`
    SELECT clock_under_lock(${tenantId}, ${lockKey('sandbox', tenantId)}) AS "aheadMs"`;
  return Number(row?.aheadMs);
}

/**
 * Locks a sandbox until the commit, so that only one reset or change of the clock runs.
 * @throws Problem sandbox_busy if another one is running: waiting would hold a connection that other requests need
 */
export async function lockSandbox({ db }: TransactionContext, tenantId: string): Promise<void> {
  const [reset] = await db.everyTenant.rows<{ isFirst: boolean }>`
    SELECT pg_try_advisory_xact_lock(${lockKey('reset', tenantId)}) AS "isFirst"`;
  if (!reset?.isFirst) throw new Problem('sandbox_busy');
}

/** Waits for the sandbox's requests that write, and blocks new ones until the commit. @throws Problem sandbox_busy */
export async function lockForReset(context: TransactionContext, tenantId: string): Promise<void> {
  await lockSandbox(context, tenantId);
  await context.db.everyTenant.run`SELECT pg_advisory_xact_lock(${lockKey('sandbox', tenantId)})`;
}

/** The number of an advisory lock. If two sandboxes have the same, one waits for the other or gets sandbox_busy. */
const lockKey = (what: 'reset' | 'sandbox', tenantId: string) =>
  Prisma.sql`hashtextextended(${`${what} ${tenantId}`}, 0)`;
