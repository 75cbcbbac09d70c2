import type { Transaction } from '../adapters/database.js';
import type { Context, DomainContext } from '../context.js';

/** A context whose queries are part of one transaction. A {@link DomainContext} also serves, without that promise. */
export type TransactionContext = Omit<DomainContext, 'db'> & { readonly db: Transaction };

/** The same on behalf of a caller. A {@link Context} also serves, without the promise of a transaction. */
export type CallerContext = Omit<Context, 'db'> & { readonly db: Transaction };

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
  return context.db.$transaction((db) => work({ ...parts, db }), { timeout: timeoutMs, maxWait: timeoutMs });
}

/** The same with everything that an operation's context has. */
export function inCallerTransaction<T>(context: Context, work: (context: CallerContext) => Promise<T>): Promise<T> {
  return context.db.$transaction((db) => work({ ...context, db }), { timeout: REQUEST_MS, maxWait: REQUEST_MS });
}
