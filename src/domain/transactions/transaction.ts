import type { Queries, Transaction } from '../../adapters/database/database.js';
import { withMembers, type Context, type DomainContext } from '../../context.js';
import { lockShared, lockExclusive } from './locks.js';

/** A context whose queries are part of one transaction; only {@link inTransaction} makes one. */
export type TransactionContext = Omit<DomainContext, 'db'> & { readonly db: Transaction };

/** The same on behalf of a caller; only {@link inCallerTransaction} makes one. */
export type CallerContext = Omit<Context, 'db'> & { readonly db: Transaction };

/** What an operator's command needs, inside of a transaction or not. */
export type QueryContext = Omit<DomainContext, 'db'> & { readonly db: Queries };

/** What a read on behalf of a caller needs, inside of a transaction or not. */
export type ReadContext = Omit<Context, 'db'> & { readonly db: Queries };

/**
 * The same context in the time of a tenant.
 * @param aheadMs how far the tenant's clock is ahead of the world's, in milliseconds
 */
export function inTenantTime<C extends { readonly now: () => Date }>(context: C, aheadMs: number) {
  return withMembers(context, { now: () => new Date(context.now().getTime() + aheadMs) });
}

/** How long the transaction of one request may take, and may wait for a connection. */
const REQUEST_MS = 10_000;

/**
 * All or nothing: commits when the work is done, rolls back when it throws.
 * @param timeoutMs how long the work may take, and may wait for a connection
 */
export function inTransaction<T>(
  context: DomainContext,
  work: (context: TransactionContext) => Promise<T>,
  timeoutMs: number = REQUEST_MS,
): Promise<T> {
  const { now, newId, randomBytes } = context;
  const parts = { now: now.bind(context), newId: newId.bind(context), randomBytes: randomBytes.bind(context) };
  const limits = { timeout: timeoutMs, maxWait: timeoutMs };
  return context.db.$transaction((db) => work({ ...parts, db: db as Transaction }), limits);
}

/** The same with everything that an operation's context has. */
export function inCallerTransaction<T>(context: Context, work: (context: CallerContext) => Promise<T>): Promise<T> {
  const limits = { timeout: REQUEST_MS, maxWait: REQUEST_MS };
  return context.db.$transaction(
    async (db) => work(await shareSandboxLock(withMembers(context, { db: db as Transaction }))),
    limits,
  );
}

/** A reset and writers exclude each other. Re-read the clock after waiting. */
async function shareSandboxLock(context: CallerContext): Promise<CallerContext> {
  const { caller, db, realNow } = context;
  if (caller.tenantMode !== 'sandbox') return context;
  await lockShared(db, sandboxOf(caller.tenantId));
  const [tenant] = await db.$queryRaw<{ offset: bigint }[]>`
    SELECT clock_offset_ms AS "offset" FROM tenant WHERE id = ${caller.tenantId}`;
  return inTenantTime(withMembers(context, { now: realNow }), Number(tenant?.offset ?? 0));
}

/** Blocks all writers of this sandbox until commit. */
export function lockSandbox({ db }: TransactionContext, tenantId: string): Promise<void> {
  return lockExclusive(db, sandboxOf(tenantId));
}

const sandboxOf = (tenantId: string): string => `sandbox ${tenantId}`;
