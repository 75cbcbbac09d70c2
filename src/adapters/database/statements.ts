import type { Duplex } from 'node:stream';
import { types, type CustomTypesConfig, type Pool, type QueryResultRow } from 'pg';
import { Prisma } from '../../../generated/prisma/client.js';
import { throwCommitFailure, throwWithoutValues } from './databaseErrors.js';
import type { StatementGuard } from './statementGuard.js';

type Statement = Prisma.Sql | TemplateStringsArray;

/** Runs statements, each in one round trip. */
export interface Statements {
  rows<Row extends object>(sql: Statement, ...values: readonly unknown[]): Promise<Row[]>;
  /** The first row. @throws Error if there is none */
  row<Row extends object>(sql: Statement, ...values: readonly unknown[]): Promise<Row>;
  /** @returns the number of changed rows */
  run(sql: Statement, ...values: readonly unknown[]): Promise<number>;
}

export interface Queries {
  /** Statements on the rows of one tenant. @throws Error unless a statement names the tenant for each table */
  of(tenantId: string): Statements;
  /** Statements on the rows of all tenants (jobs, CLI), or on tables that belong to no tenant. */
  readonly everyTenant: Statements;
}

declare const inTransaction: unique symbol;

/** Runs statements in one transaction. Code that must be atomic requires this type, so it only compiles inside one. */
export interface Transaction extends Queries {
  readonly [inTransaction]: true;
  /** Runs work in a savepoint: if it throws, only its changes are rolled back. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * What the work of a transaction returns: its result, and a last statement to send with COMMIT (rows are discarded).
 */
export interface Finished<T> {
  readonly result: T;
  readonly last: Prisma.Sql | null;
}

const utcDate = (text: string): Date => new Date(`${text}T00:00:00.000Z`);
type TypeId = Parameters<typeof types.getTypeParser>[0];
const ownParsers = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, BigInt],
  [types.builtins.NUMERIC, (text) => new Prisma.Decimal(text)],
  [types.builtins.DATE, utcDate],
]);

/** Parses column values into the same types as Prisma does. */
export const parsers: CustomTypesConfig = {
  getTypeParser: (oid: TypeId, format?: 'text' | 'binary'): unknown =>
    ownParsers.get(oid) ?? types.getTypeParser(oid, format),
};

/** Gives a statement the name under which PostgreSQL prepares it; empty = not prepared. */
export type NameOf = (statement: { readonly sql: string }) => string;

/** A pool, a connection, or a transaction of Prisma's. */
interface Client {
  query<Row extends QueryResultRow>(
    statement: Readonly<Record<'name' | 'text', string>> & { readonly values: unknown[] },
  ): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }>;
}

/** Prepares and checks the statements of a database. */
export interface Preparation {
  readonly nameOf: NameOf;
  readonly guard: StatementGuard;
}

/** Runs statements on a client, and calls `before` ahead of each. */
export function queriesOn(client: Client, { nameOf, guard }: Preparation, before = ignore): Queries {
  const statementsOf = (tenantId: string | null): Statements => {
    const send = async <Row extends QueryResultRow>(sql: Statement, own: readonly unknown[]) => {
      // Read the text only once: `Prisma.Sql` rebuilds it at each access.
      const { text, values } = 'raw' in sql ? Prisma.sql(sql, ...own) : sql;
      if (tenantId !== null && (tenantId === '' || !values.includes(tenantId))) {
        throw new Error(
          `a statement does not mention its tenant, or that is empty; name it, or use everyTenant: ${text}`,
        );
      }
      if (tenantId !== null) guard(text, values, tenantId);
      before();
      return client.query<Row>({ name: nameOf({ sql: text }), text, values }).catch(throwWithoutValues);
    };
    return {
      rows: async <Row extends object>(sql: Statement, ...values: readonly unknown[]) =>
        (await send<Row>(sql, values)).rows,
      async row<Row extends object>(sql: Statement, ...values: readonly unknown[]) {
        const [row] = (await send<Row>(sql, values)).rows;
        if (!row) throw new Error('a statement returned no row: use rows() if there may be none');
        return row;
      },
      run: async (sql, ...values) => (await send(sql, values)).rowCount ?? 0,
    };
  };
  return { of: statementsOf, everyTenant: statementsOf(null) };
}

/** Runs a transaction: BEGIN goes with the first statement, COMMIT with the last (after an error it rolls back). */
export async function runTransaction<T>(
  pool: Pool,
  preparation: Preparation,
  work: (transaction: Transaction) => Promise<Finished<T>>,
): Promise<T> {
  const connection = await pool.connect();
  const { stream } = connection.connection;
  let begun: Promise<unknown> | undefined;
  let hasEnded = false;
  const queries = queriesOn(connection, preparation, () => {
    // After a failure, other branches of `work` may continue; the connection may already serve another transaction.
    if (hasEnded)
      throw new Error(
        'a statement comes after the end of its transaction: await it in the work, or correct the error that ended it',
      );
    inOnePacket(stream);
    if (begun) return;
    begun = connection.query('BEGIN');
    // BEGIN fails only if the connection does; then the next statement fails as well and reports the error.
    begun.catch(ignore);
  });
  const savepoint = async <U>(inner: () => Promise<U>): Promise<U> => {
    await queries.everyTenant.run`SAVEPOINT inner_work`;
    try {
      const result = await inner();
      await queries.everyTenant.run`RELEASE SAVEPOINT inner_work`;
      return result;
    } catch (error) {
      await queries.everyTenant.run`ROLLBACK TO SAVEPOINT inner_work`;
      throw error;
    }
  };
  let isBroken = false;
  try {
    const { result, last } = await work({ savepoint, ...queries } as Transaction);
    if (last) preparation.guard(last.text, last.values, null);
    inOnePacket(stream);
    const sent = Promise.all([last && queries.everyTenant.run(last), begun, connection.query('COMMIT')]);
    hasEnded = true;
    const [, , { command }] = await sent.catch(throwCommitFailure);
    // PostgreSQL answers ROLLBACK if an earlier statement failed and `work` ignored that.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back: rethrow the error of its statement');
    return result;
  } catch (error) {
    hasEnded = true;
    await connection.query('ROLLBACK').catch(() => (isBroken = true));
    throw error;
  } finally {
    connection.release(isBroken);
  }
}

/** Sends all writes of this tick in one packet: a packet is a system call, which costs more than most statements. */
function inOnePacket(stream: Duplex): void {
  stream.cork();
  process.nextTick(() => stream.uncork());
}

const ignore = (): void => undefined;
