import { isDriverAdapterError } from '@prisma/driver-adapter-utils';
import { DatabaseError } from 'pg';
import { Prisma } from '../../../generated/prisma/client.js';
import { describeCauses } from '../../failures.js';
import { isRecord } from './tenantGuard.js';

/** Whether an error violates this unique constraint or index, named as in the migrations. */
export function isUniqueViolation(error: unknown, constraint: string): boolean {
  // A distributed PostgreSQL adds the number of the shard.
  return violatedKey(error)?.replace(/_\d+$/, '') === constraint;
}

/** The unique constraint or index that an error violates. */
function violatedKey(error: unknown): string | undefined {
  if (error instanceof DatabaseError) {
    if (sqlState(error) !== '23505') return undefined;
    // Citus passes on a worker's message, which quotes the constraint's name, but not the field `constraint`.
    return error.constraint ?? /"(\w+)"/.exec(error.message)?.[1];
  }
  const violated = driverError(error);
  if (violated?.['kind'] !== 'UniqueConstraintViolation' || !isRecord(violated['constraint'])) return undefined;
  return String(violated['constraint']['index']);
}

/** What the log shows of a failed piece of background work: no values, which may be health data. */
export const failureOf = (error: unknown) => ({ sqlstate: sqlState(error), causes: describeCauses(error) });

/** The SQLSTATE of an error; undefined if the error is not from PostgreSQL. */
export function sqlState(error: unknown): string | undefined {
  if (error instanceof UnknownOutcome) return sqlState(error.cause);
  if (!(error instanceof DatabaseError)) {
    const code = driverError(error)?.['originalCode'];
    return typeof code === 'string' ? code : undefined;
  }
  const { code, message } = error;
  if (code !== 'XX000' && code !== '58030') return code;
  return statesOfWorkers.find(([text]) => text.test(message))?.[1] ?? code;
}

/**
 * SQLSTATEs that Citus does not pass on. It writes most rows by COPY, which repeats the worker's message as an internal
 * error, or as an I/O error if the worker has ended.
 */
const statesOfWorkers: readonly (readonly [RegExp, string])[] = [
  [/^duplicate key value violates unique constraint/, '23505'],
  [/^canceling statement due to lock timeout/, '55P03'],
  [/^canceling statement due to statement timeout/, '57014'],
  [/^deadlock detected/, '40P01'],
  [/^(terminating connection due to|failed to complete COPY on|failure on connection marked as essential)/, '08006'],
  [/^could not find (valid entry for|any) shard placement/, '08006'],
];

/** Whether the database or the connection is down, full or too slow, so that a retry may succeed. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof UnknownOutcome) return true;
  if (!isRecord(error)) return false;
  // Prisma's transaction exceeded its time limit.
  if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2028') return true;
  const cause = driverError(error);
  if (unavailableKinds.has(String(cause?.['kind']))) return true;
  // Some connection errors come directly from pg or the operating system, without the form of Prisma's adapter.
  const code = sqlState(error) ?? error['code'] ?? '';
  if (typeof code !== 'string') return false;
  return unavailableCode.test(code) || (code === '' && unavailableMessage.test(String(error['message'])));
}

/** Whether PostgreSQL rejected one statement or its data, and can still run other statements. */
export const isAnswer = (error: unknown): boolean => !/^(08|53|57P)/.test(sqlState(error) ?? '08');

const unavailableKinds = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
  'TlsConnectionError',
  'AuthenticationFailed',
  'DatabaseAccessDenied',
  'DatabaseDoesNotExist',
]);
/**
 * SQLSTATE 08 connection, 53 resources, 57P0x shut down or starting, 57014 statement timeout, 25P03 idle transaction,
 * 25006 read-only session (the primary was demoted), 55P03 lock timeout, 40P01 deadlock, 40001 serialization; then the
 * network errors of the operating system.
 */
const unavailableCode = new RegExp(
  '^(08...|53...|57P0.|57014|25P03|25006|55P03|40P01|40001' +
    '|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$',
);
const unavailableMessage = new RegExp(
  '^(timeout exceeded when trying to connect|timeout expired|Query read timeout' +
    '|Connection terminated|Client has encountered a connection error|Client was closed)',
);

/** The error of Prisma's database adapter. Prisma wraps it in `meta.driverAdapterError`, except if COMMIT fails. */
function driverError(error: unknown): Record<string, unknown> | undefined {
  const thrown = error instanceof Prisma.PrismaClientKnownRequestError ? error.meta?.['driverAdapterError'] : error;
  return isRecord(thrown) && isDriverAdapterError(thrown)
    ? (thrown.cause as object as Record<string, unknown>)
    : undefined;
}

/** A commit whose outcome PostgreSQL did not report: its changes may be stored. */
export class UnknownOutcome extends Error {}

/** SQLSTATEs of connection, resources and server, which leave the outcome of COMMIT open; others mean a rollback. */
const doubtfulCode = /^(08|53|57P|58|XX)/;

/** Rethrows the error of a COMMIT. @throws UnknownOutcome unless PostgreSQL has certainly rolled back */
export function throwCommitFailure(error: unknown): never {
  const code = sqlState(error);
  if (code !== undefined && !doubtfulCode.test(code)) throw error;
  throw new UnknownOutcome(
    'It is unknown whether the change is committed: see whether it is there before you repeat it',
    {
      cause: error,
    },
  );
}

/** Rethrows an error without PostgreSQL's detail, hint and context, which may quote health data. */
export function throwWithoutValues(error: unknown): never {
  const said = error instanceof DatabaseError ? error : driverError(error);
  if (said) Object.assign(said, { detail: undefined, hint: undefined, where: undefined });
  throw error;
}
