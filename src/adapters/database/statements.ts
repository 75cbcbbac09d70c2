import type { Duplex } from 'node:stream';
import { types, type CustomTypesConfig, type Pool, type PoolClient, type QueryResultRow } from 'pg';
import { Prisma } from '../../../generated/prisma/client.js';
import { throwCommitFailure, throwWithoutValues } from './databaseErrors.js';

type Statement = Prisma.Sql | TemplateStringsArray;

/** Runs prepared statements, each in one round trip. */
export interface Statements {
  rows<Row extends object>(sql: Statement, ...values: readonly unknown[]): Promise<Row[]>;
  /** @returns the number of changed rows */
  run(sql: Statement, ...values: readonly unknown[]): Promise<number>;
}

export interface Queries {
  /** Statements on the rows of one tenant. @throws Error unless the tenant is one of the parameters */
  of(tenantId: string): Statements;
  /** Statements on rows of all tenants (jobs, CLI), or on tables without a tenant. */
  readonly everyTenant: Statements;
}

declare const inTransaction: unique symbol;

/** Statements of one transaction. Code that must be atomic takes this type, so that it compiles only inside one. */
export interface Transaction extends Queries {
  readonly [inTransaction]: true;
  /** Undoes only the work when it throws. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
}

/** The result of a transaction, and its last statement, whose rows are discarded. */
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

/** Parses values as Prisma does. */
export const parsers: CustomTypesConfig = {
  getTypeParser: (oid: TypeId, format?: 'text' | 'binary'): unknown =>
    ownParsers.get(oid) ?? types.getTypeParser(oid, format),
};

/** The name of a prepared statement; empty = not prepared. */
export type NameOf = (statement: { readonly sql: string }) => string;

/** Runs statements on a pool or a connection. `before` is called before each is sent. */
export function queriesOn(client: Pool | PoolClient, nameOf: NameOf, before = ignore): Queries {
  const statementsOf = (tenantId: string | null): Statements => {
    const send = async <Row extends QueryResultRow>(sql: Statement, own: readonly unknown[]) => {
      // Read the text once: `Prisma.Sql` builds it at each access.
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

/** Sends BEGIN with the first statement and COMMIT with the last; after an error COMMIT means ROLLBACK. */
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
    // It fails only with the connection, and then the next statement fails, too.
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

/** Joins the writes of this tick: each packet is a system call, which costs more than most statements. */
function inOnePacket(stream: Duplex): void {
  stream.cork();
  process.nextTick(() => stream.uncork());
}

const ignore = (): void => undefined;
