import { Prisma } from '../../../generated/prisma/client.js';
import type { Queries, Transaction } from '../../adapters/database/statements.js';
import type { Context, DomainContext, Services } from '../../context.js';
import { Problem } from '../../problem.js';
import { takeKey, type Start } from './idempotency.js';
import { unitOfWorkStatement, type UnitOfWork } from './unitOfWork.js';

/** A context whose statements are part of one transaction; only {@link inTransaction} makes one. */
export interface TransactionContext extends Omit<DomainContext, 'db'>, UnitOfWork {
  readonly db: Transaction;
}

/** The context of sweeps and deliveries, which log a failure and continue with the next row. */
export type BackgroundContext = DomainContext & Pick<Services, 'log'>;

/** The same on behalf of a caller. */
export type CallerContext = TransactionContext & Pick<Context, 'caller'>;

/** What reads without a caller, inside of a transaction or not. */
export type QueryContext = Omit<DomainContext, 'db'> & { readonly db: Queries };

/** What reads on behalf of a caller, inside of a transaction or not. */
export type ReadContext = QueryContext & Pick<Context, 'caller'>;

/** The least that a statement on behalf of a caller needs. */
export type LookupContext = Pick<ReadContext, 'caller' | 'db'>;

/** The clock of a tenant that is so many milliseconds ahead of the world's (R-74). */
export function aheadOf(now: () => Date, aheadMs: number): () => Date {
  return () => new Date(now().getTime() + aheadMs);
}

/** All or nothing: commits when the work is done, rolls back when it throws. */
export function inTransaction<T>(
  { db, now, newId, randomBytes }: DomainContext,
  work: (context: TransactionContext) => Promise<T>,
): Promise<T> {
  return db.transaction((transaction) =>
    collecting((unit) => work({ db: transaction, now, newId, randomBytes, ...unit })),
  );
}

/**
 * The same on behalf of a caller.
 * @param work is not the first one if an earlier request has its Idempotency-Key
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

/** Collects events and audit until the work is done. */
async function collecting<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<{ result: T; last: Prisma.Sql | null }> {
  const unit: UnitOfWork = { events: [], audited: [], changes: [] };
  const result = await work(unit);
  return { result, last: unitOfWorkStatement(unit) };
}

/**
 * Takes the key of the request, if it has one. In a sandbox a reset and writers exclude each other from here on, and one
 * that had to wait works in the time that it finds then (R-76).
 */
async function begin({ caller, idempotency, now, realNow }: Context, db: Transaction) {
  const { tenantId, tenantMode } = caller;
  if (tenantMode === 'live' && !idempotency) return { now, isFirst: true };
  const aheadMs =
    tenantMode === 'live'
      ? Prisma.sql`0::bigint`
      : Prisma.sql`clock_under_lock(${tenantId}, ${lockKey('sandbox', tenantId)})`;
  const [start] = idempotency
    ? await takeKey({ db, caller }, idempotency, aheadMs)
    : await db.of(tenantId).rows<Start>`SELECT ${aheadMs} AS "aheadMs", true AS "isFirst"`;
  if (!start) throw new Error('a statement returned no row');
  return { now: aheadOf(realNow, Number(start.aheadMs)), isFirst: start.isFirst };
}

/**
 * Keeps resets and moves of the clock of this sandbox apart until commit.
 * @throws Problem sandbox_busy: another one has begun. To wait for it would hold a connection that others need.
 */
export async function lockSandbox({ db }: TransactionContext, tenantId: string): Promise<void> {
  const [reset] = await db.everyTenant.rows<{ isFirst: boolean }>`
    SELECT pg_try_advisory_xact_lock(${lockKey('reset', tenantId)}) AS "isFirst"`;
  if (!reset?.isFirst) throw new Problem('sandbox_busy');
}

/** Blocks all writers of this sandbox until commit. @throws Problem sandbox_busy */
export async function lockForReset(context: TransactionContext, tenantId: string): Promise<void> {
  await lockSandbox(context, tenantId);
  await context.db.everyTenant.run`SELECT pg_advisory_xact_lock(${lockKey('sandbox', tenantId)})`;
}

/** Two sandboxes with one hash only get in each other's way. */
const lockKey = (what: 'reset' | 'sandbox', tenantId: string) =>
  Prisma.sql`hashtextextended(${`${what} ${tenantId}`}, 0)`;
