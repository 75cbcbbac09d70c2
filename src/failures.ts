import { types } from 'node:util';
import { Problem } from './problem.js';

/** The `code` of an error (`ENOENT`, …), if any. Does not use `instanceof`, which fails for errors of another realm. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** For `catch`: null if a file does not exist. @throws other errors */
export function nullIfMissing(error: unknown): null {
  // ESRCH: a file of a process that has ended, in /proc.
  if (['ENOENT', 'ESRCH'].includes(String(errorCode(error)))) return null;
  throw error;
}

/** The message of an error, or the thrown value as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The last line of an error's message, where Prisma puts the reason, without its period; if empty, code or name. */
export function lastLine(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  const lines = error.message.split('\n').filter((line) => line.trim() !== '');
  const code = errorCode(error);
  // An error of a refused connection to several addresses has a code but no message.
  return lines.at(-1)?.replace(/\.$/, '') ?? (typeof code === 'string' ? code : error.name);
}

/** The text of an error's cause, or of the error: "ECONNREFUSED" says more than "temporarily unavailable". */
export function reasonOf(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  return types.isNativeError(error.cause) ? error.cause.message : error.message;
}

/** The reason of an error on one line: this program's own message, which has advice, or else the cause. */
export const causeOf = (error: unknown): string =>
  lastLine(error instanceof Error && error.constructor !== Error ? (error.cause ?? error) : error);

/** The text of an error that stops a program. Only our own texts, which end with a period, have advice. */
export function advised(error: unknown, advice: string): string {
  const isOwn = error instanceof Error && error.constructor === Error && errorCode(error) === undefined;
  return isOwn && error.message.endsWith('.') ? error.message : `${causeOf(error)}. ${advice}`;
}

/** Classes of errors thrown by this code or by the language; their messages contain no values. */
const OWN_ERRORS = 'Error TypeError RangeError Problem TenantOverload UnknownOutcome WrongStoreSetting'.split(' ');

/** An error and its causes for the log. Libraries' messages may quote values: only name, code and position are kept. */
export function describeCauses(error: unknown): object[] {
  const causes: object[] = [];
  for (let cause = error; types.isNativeError(cause) && causes.length < 5; cause = cause.cause) {
    const { name, constructor, message, stack } = cause;
    const code = errorCode(cause);
    causes.push({
      name,
      code,
      // Omit messages of Node's system errors, which are plain Errors with a code: they quote paths with file names.
      ...(OWN_ERRORS.includes(constructor.name) && (cause instanceof Problem || code === undefined) ? { message } : {}),
      stack: stack
        ?.split('\n')
        .filter((line) => /^ +at /.test(line))
        .slice(0, 8),
    });
  }
  return causes;
}
