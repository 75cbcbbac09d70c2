import { Prisma, type Encounter, type Order, type Patient, type Payment } from '../../../generated/prisma/client.js';
import type { Queries, Transaction } from '../../adapters/database/database.js';
import { throwCommitFailure } from '../../adapters/database/databaseErrors.js';
import type { Finished, Statements, TransactionStatements } from '../../adapters/database/statements.js';
import { withMembers, type Context, type DomainContext } from '../../context.js';
import { Problem } from '../../problem.js';
import { takeKey, type Start } from './idempotency.js';
import { outboxStatement, type Outbox } from './outbox.js';

/** Its queries, and what is written when the work is done. */
interface TransactionParts<Db extends TransactionStatements = Transaction> extends Outbox {
  readonly db: Db;
}

/** A context whose queries are part of one transaction; only {@link inTransaction} makes one. */
export type TransactionContext = Omit<DomainContext, 'db'> & TransactionParts & { readonly fixed?: FixedColumns };

/** What a new row has instead of a new id, the next number and so on. Only the fixtures of a sandbox say it (R-15). */
interface FixedColumns {
  readonly patient?: Pick<Patient, 'id' | 'isVerified'>;
  readonly encounter?: Pick<Encounter, 'id' | 'encounterNo'>;
  readonly claim?: Pick<Encounter, 'claimedById'>;
  readonly order?: Pick<Order, 'id' | 'orderSequence'>;
  readonly payment?: Pick<Payment, 'id'>;
}

/** The same on behalf of a caller. */
export type CallerContext = TransactionContext & Pick<Context, 'caller'>;

/** The same for work that consists of statements: any transaction will do. */
export type StatementContext = Omit<CallerContext, 'db'> & TransactionParts<TransactionStatements>;

/** What a statement on behalf of a caller needs, inside of a transaction or not. */
export type LookupContext = Pick<Context, 'caller'> & { readonly db: Statements };

/** The same with what a new record needs. */
export type DraftContext = LookupContext & Pick<Context, 'now' | 'newId'>;

/** What an operator's command needs, inside of a transaction or not. */
export type QueryContext = Omit<DomainContext, 'db'> & { readonly db: Queries };

/** What a read on behalf of a caller needs, inside of a transaction or not. */
export type ReadContext = QueryContext & Pick<Context, 'caller'>;

/** The same context in the time of a tenant, whose clock is so many milliseconds ahead of the world's (R-74). */
export function inTenantTime<C extends { readonly now: () => Date }>(context: C, aheadMs: number) {
  return withMembers(context, { now: () => new Date(context.now().getTime() + aheadMs) });
}

/** All or nothing: commits when the work is done, rolls back when it throws. */
export function inTransaction<T>(
  context: DomainContext,
  work: (context: TransactionContext) => Promise<T>,
): Promise<T> {
  const { now, newId, randomBytes } = context;
  const parts = { now: now.bind(context), newId: newId.bind(context), randomBytes: randomBytes.bind(context) };
  return transact(context, (inside) => work({ ...parts, ...inside }));
}

/** What a caller's transaction does. It is not the first one if an earlier request has its Idempotency-Key. */
type CallersWork<C, T> = (context: C, isFirst: boolean) => Promise<T>;

/** The same with everything that an operation's context has. @throws Problem idempotency_in_progress */
export function inCallerTransaction<T>(context: Context, work: CallersWork<CallerContext, T>): Promise<T> {
  return transact(context, async (inside) => {
    const { now, isFirst } = await begin(context, inside.db);
    return work(withMembers(context, { ...inside, now }), isFirst);
  });
}

/** The same for statements alone, without Prisma. @throws Problem idempotency_in_progress */
export function inCallerStatements<T>(context: Context, work: CallersWork<StatementContext, T>): Promise<T> {
  return context.db.$statements((statements) =>
    untilOutbox(statements, async (inside) => {
      const { now, isFirst } = await begin(context, statements);
      return work(withMembers(context, { ...inside, now }), isFirst);
    }),
  );
}

function transact<T>({ db }: Pick<DomainContext, 'db'>, work: (inside: TransactionParts) => Promise<T>): Promise<T> {
  let isDone = false;
  return db
    .$transaction(async (queries: Queries) => {
      const { result, last } = await untilOutbox(queries as Transaction, work);
      if (last) await queries.$executeRaw(last);
      isDone = true;
      return result;
    })
    .catch((error: unknown) => {
      if (isDone) throwCommitFailure(error);
      throw error;
    });
}

/** Collects events and audit until the work is done. */
async function untilOutbox<Db extends TransactionStatements, T>(
  db: Db,
  work: (inside: TransactionParts<Db>) => Promise<T>,
): Promise<Finished<T>> {
  const outbox: Outbox = { events: [], audited: [], changes: [] };
  const result = await work({ db, ...outbox });
  return { result, last: outboxStatement(outbox) };
}

/**
 * Takes the key of the request, if it has one. In a sandbox a reset and writers exclude each other from here on, and one
 * that had to wait works in the time that it finds then (R-76).
 */
async function begin(context: Context, db: Statements) {
  const { caller, idempotency, realNow } = context;
  const { tenantId, tenantMode } = caller;
  if (tenantMode === 'live' && !idempotency) return { now: () => context.now(), isFirst: true };
  const aheadMs =
    tenantMode === 'live'
      ? Prisma.sql`0::bigint`
      : Prisma.sql`clock_under_lock(${tenantId}, ${lockKey('sandbox', tenantId)})`;
  const [start] = idempotency
    ? await takeKey({ db, caller }, idempotency, aheadMs)
    : await db.$queryRaw<Start[]>`SELECT ${aheadMs} AS "aheadMs", true AS "isFirst"`;
  if (!start) throw new Error('a statement returned no row');
  return { now: inTenantTime({ now: realNow }, Number(start.aheadMs)).now, isFirst: start.isFirst };
}

/**
 * Keeps resets and moves of the clock of this sandbox apart until commit.
 * @throws Problem sandbox_busy: another one has begun. To wait for it would hold a connection that others need.
 */
export async function lockSandbox({ db }: TransactionContext, tenantId: string): Promise<void> {
  const [reset] = await db.$queryRaw<{ isFirst: boolean }[]>`
    SELECT pg_try_advisory_xact_lock(${lockKey('reset', tenantId)}) AS "isFirst"`;
  if (!reset?.isFirst) throw new Problem('sandbox_busy');
}

/** Blocks all writers of this sandbox until commit. @throws Problem sandbox_busy */
export async function lockForReset(context: TransactionContext, tenantId: string): Promise<void> {
  await lockSandbox(context, tenantId);
  await context.db.$executeRaw`SELECT pg_advisory_xact_lock(${lockKey('sandbox', tenantId)})`;
}

/** Two sandboxes with one hash only get in each other's way. */
const lockKey = (what: 'reset' | 'sandbox', tenantId: string) =>
  Prisma.sql`hashtextextended(${`${what} ${tenantId}`}, 0)`;
