import type { Transaction } from '../adapters/database.js';
import type { DomainContext } from '../context.js';

/** A context whose queries are part of one transaction. A {@link DomainContext} also serves, without that promise. */
export type TransactionContext = Omit<DomainContext, 'db'> & { readonly db: Transaction };

/**
 * All or nothing: commits when the work is done, rolls back when it throws.
 * @param timeoutMs how long the work may take, and may wait for a connection
 */
export function inTransaction<T>(
  context: DomainContext,
  work: (context: TransactionContext) => Promise<T>,
  timeoutMs: number,
): Promise<T> {
  const { now, newId, randomBytes } = context;
  const parts = { now: now.bind(context), newId: newId.bind(context), randomBytes: randomBytes.bind(context) };
  return context.db.$transaction((db) => work({ ...parts, db }), { timeout: timeoutMs, maxWait: timeoutMs });
}
