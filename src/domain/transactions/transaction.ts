import { Prisma } from '../../../generated/prisma/client.js';
import type { Queries, Transaction } from '../../adapters/database/database.js';
import type { Context, DomainContext } from '../../context.js';
import { writeEvents, type NewEvent } from './outbox.js';

/** What work in a transaction has: its queries, and the events that are written when the work is done. */
interface TransactionParts {
  readonly db: Transaction;
  readonly events: NewEvent[];
}

/** A context whose queries are part of one transaction; only {@link inTransaction} makes one. */
export type TransactionContext = Omit<DomainContext, 'db'> & TransactionParts;

/** The same on behalf of a caller; only {@link inCallerTransaction} makes one. */
export type CallerContext = Omit<Context, 'db'> & TransactionParts;

/** What an operator's command needs, inside of a transaction or not. */
export type QueryContext = Omit<DomainContext, 'db'> & { readonly db: Queries };

/** What a read on behalf of a caller needs, inside of a transaction or not. */
export type ReadContext = Omit<Context, 'db'> & { readonly db: Queries };

/**
 * The same context in the time of a tenant (R-74).
 * @param aheadMs how far the tenant's clock is ahead of the world's, in milliseconds
 */
export function inTenantTime<C extends { readonly now: () => Date }>(context: C, aheadMs: number): C {
  return { ...context, now: () => new Date(context.now().getTime() + aheadMs) };
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
  return transact(context, (inside) => work({ ...parts, ...inside }), timeoutMs);
}

/** The same with everything that an operation's context has. */
export function inCallerTransaction<T>(context: Context, work: (context: CallerContext) => Promise<T>): Promise<T> {
  return transact(context, async (inside) => work(await shareSandboxLock({ ...context, ...inside })), REQUEST_MS);
}

function transact<T>(
  { db: database }: Pick<DomainContext, 'db'>,
  work: (inside: TransactionParts) => Promise<T>,
  timeoutMs: number,
): Promise<T> {
  const commit = async (queries: Queries): Promise<T> => {
    const [db, events]: [Transaction, NewEvent[]] = [queries as Transaction, []];
    const result = await work({ db, events });
    await writeEvents(db, events);
    return result;
  };
  return database.$transaction(commit, { timeout: timeoutMs, maxWait: timeoutMs });
}

/** A reset and writers exclude each other. Re-read the clock after waiting. */
async function shareSandboxLock(context: CallerContext): Promise<CallerContext> {
  const { caller, db, realNow } = context;
  if (caller.tenantMode !== 'sandbox') return context;
  await db.$executeRaw`SELECT pg_advisory_xact_lock_shared(${sandboxLock(caller.tenantId)})`;
  const [tenant] = await db.$queryRaw<{ offset: bigint }[]>`
    SELECT clock_offset_ms AS "offset" FROM tenant WHERE id = ${caller.tenantId}`;
  return inTenantTime({ ...context, now: realNow }, Number(tenant?.offset ?? 0));
}

/** Blocks all writers of this sandbox until commit. */
export async function lockSandbox({ db }: TransactionContext, tenantId: string): Promise<void> {
  await db.$executeRaw`SELECT pg_advisory_xact_lock(${sandboxLock(tenantId)})`;
}

/** Two sandboxes with one hash only wait for one another. */
const sandboxLock = (tenantId: string) => Prisma.sql`hashtextextended(${`sandbox ${tenantId}`}, 0)`;
