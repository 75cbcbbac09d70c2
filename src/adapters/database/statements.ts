import type { Duplex } from 'node:stream';
import { types, type CustomTypesConfig, type Pool, type PoolClient, type QueryResultRow } from 'pg';
import { Prisma } from '../../../generated/prisma/client.js';
import { throwCommitFailure, throwWithoutValues } from './databaseErrors.js';

/** A statement as `Prisma.sql` makes it, or the template of one. */
type Statement = Prisma.Sql | TemplateStringsArray;

/** Runs statements, which are prepared and sent in one round trip. */
export interface Statements {
  rows<Row extends object>(sql: Statement, ...values: readonly unknown[]): Promise<Row[]>;
  /** @returns how many rows the statement has changed */
  run(sql: Statement, ...values: readonly unknown[]): Promise<number>;
}

/** The database or one transaction. */
export interface Queries {
  /** Statements on the rows of one tenant. Each throws an Error when the tenant is not one of its parameters. */
  of(tenantId: string): Statements;
  /** Statements on the rows of every tenant (sweeps, the operator's program), or on tables without a tenant. */
  readonly everyTenant: Statements;
}

declare const inTransaction: unique symbol;

/** Statements of one transaction. Code that must be atomic takes this type, so it does not compile outside of one. */
export interface Transaction extends Queries {
  readonly [inTransaction]: true;
  /** Undoes the work, and nothing else, when it throws. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
}

/** The result of a transaction's work, and the statement that ends it, whose rows nobody reads. */
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

/** Values as Prisma returns them. */
export const parsers: CustomTypesConfig = {
  getTypeParser: (oid: TypeId, format?: 'text' | 'binary'): unknown =>
    ownParsers.get(oid) ?? types.getTypeParser(oid, format),
};

/** The name under which a connection prepares a statement; empty = it is not prepared. */
export type NameOf = (statement: { readonly sql: string }) => string;

/** Runs statements on a pool, or on one connection. `before` is called when a statement is about to be sent. */
export function queriesOn(client: Pool | PoolClient, nameOf: NameOf, before = ignore): Queries {
  const statementsOf = (tenantId: string | null): Statements => {
    const send = async <Row extends QueryResultRow>(sql: Statement, own: readonly unknown[]) => {
      // `Prisma.Sql` makes its text anew each time it is read.
      const { text, values } = 'raw' in sql ? Prisma.sql(sql, ...own) : sql;
      if (tenantId !== null && (tenantId === '' || !values.includes(tenantId))) {
        throw new Error(`a statement does not mention its tenant: ${text}`);
      }
      before();
      return client.query<Row>({ name: nameOf({ sql: text }), text, values }).catch(throwWithoutValues);
    };
    return {
      rows: async <Row extends object>(sql: Statement, ...values: readonly unknown[]) =>
        (await send<Row>(sql, values)).rows,
      run: async (sql, ...values) => (await send(sql, values)).rowCount ?? 0,
    };
  };
  return { of: statementsOf, everyTenant: statementsOf(null) };
}

/**
 * All or nothing, on one connection. BEGIN is sent together with the first statement, and COMMIT with the last: after a
 * failure PostgreSQL takes it for a ROLLBACK.
 */
export async function runTransaction<T>(
  pool: Pool,
  nameOf: NameOf,
  work: (transaction: Transaction) => Promise<Finished<T>>,
  begin = 'BEGIN',
): Promise<T> {
  const connection = await pool.connect();
  const { stream } = connection.connection;
  let begun: Promise<unknown> | undefined;
  const queries = queriesOn(connection, nameOf, () => {
    inOnePacket(stream);
    if (begun) return;
    begun = connection.query(begin);
    // It fails only with the connection, and so does the statement that follows.
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
    const { result, last } = await work({ ...queries, savepoint } as Transaction);
    inOnePacket(stream);
    await Promise.all([last && queries.everyTenant.run(last), begun, connection.query('COMMIT')]).catch(
      throwCommitFailure,
    );
    return result;
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => (isBroken = true));
    throw error;
  } finally {
    connection.release(isBroken);
  }
}

/** What is sent before other work has its turn; each packet is a system call, which costs more than most statements. */
function inOnePacket(stream: Duplex): void {
  stream.cork();
  process.nextTick(() => stream.uncork());
}

const ignore = (): void => undefined;
