import type { Duplex } from 'node:stream';
import { types, type CustomTypesConfig, type Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg';
import { Prisma } from '../../../generated/prisma/client.js';
import { throwCommitFailure, throwWithoutValues } from './databaseErrors.js';
import { assertTenantFirst, type SqlText } from './tenantGuard.js';

/** A statement, as `Prisma.sql` makes it, or a template of one. */
type Statement = Prisma.Sql | TemplateStringsArray;

/** What runs SQL: all that a hot operation needs. Prisma's client has it too, with the queries of its models. */
export interface Statements {
  /** The rows of a statement on the data of one tenant, which is its first parameter. */
  rows<Row extends object>(sql: Prisma.Sql): Promise<Row[]>;
  $queryRaw<Rows>(sql: Statement, ...values: unknown[]): Promise<Rows>;
  $executeRaw(sql: Statement, ...values: unknown[]): Promise<number>;
}

declare const inTransaction: unique symbol;

/** Of one transaction. What must be atomic takes this type, so that it does not compile outside of one. */
export interface Atomic {
  readonly [inTransaction]: true;
}

export type TransactionStatements = Statements & Atomic;

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

/** Runs a statement under its name, so that PostgreSQL parses it once for each connection. */
export function send<Row extends QueryResultRow>(
  client: Pool | PoolClient,
  nameOf: (statement: { sql: string }) => string,
  { text, values }: SqlText,
): Promise<QueryResult<Row>> {
  return client.query<Row>({ name: nameOf({ sql: text }), text, values }).catch(throwWithoutValues);
}

/** What work in a transaction returns, and the statement that ends it, whose rows nobody reads. */
export interface Finished<T> {
  readonly result: T;
  readonly last: Prisma.Sql | null;
}

/**
 * All or nothing, on one connection and without Prisma: for work that consists of statements. BEGIN is sent together
 * with the first one, and COMMIT with the last: after a failure PostgreSQL takes it for a ROLLBACK.
 */
export async function runTransaction<T>(
  pool: Pool,
  nameOf: (statement: { sql: string }) => string,
  work: (db: TransactionStatements) => Promise<Finished<T>>,
): Promise<T> {
  const connection = await pool.connect();
  const { stream } = connection.connection;
  let begun: Promise<unknown> | undefined;
  const run = (statement: Statement | SqlText, values: unknown[] = []) => {
    inOnePacket(stream);
    if (!begun) {
      begun = connection.query('BEGIN');
      // It fails only with the connection, and so does the statement that follows.
      begun.catch(ignore);
    }
    return send(connection, nameOf, 'raw' in statement ? Prisma.sql(statement, ...values) : statement);
  };
  const db = {
    rows: async (sql: Prisma.Sql) => (await run(assertTenantFirst(sql))).rows,
    $queryRaw: async (sql: Statement, ...values: unknown[]) => (await run(sql, values)).rows,
    $executeRaw: async (sql: Statement, ...values: unknown[]) => (await run(sql, values)).rowCount ?? 0,
  } as TransactionStatements;
  let isBroken = false;
  try {
    const { result, last } = await work(db);
    inOnePacket(stream);
    await Promise.all([last && run(last), begun, connection.query('COMMIT')]).catch(throwCommitFailure);
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
