import { types } from 'node:util';
import { Problem } from './problem.js';

/** The `code` of an error (`ENOENT`, …), if any; not by `instanceof`, which is false for errors of another realm. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** The message of an error, or what was thrown instead of one. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What is behind a failure, without its stack: "ECONNREFUSED" says more than "temporarily unavailable". */
export function reasonOf(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  return types.isNativeError(error.cause) ? error.cause.message : error.message;
}

/** Thrown by our code and the language, with messages that hold no values. */
const OWN_ERRORS: readonly string[] = [Problem, Error, TypeError, RangeError].map(({ name }) => name);

/**
 * An error and its causes as a log may hold them. Errors of libraries may quote values (health data, secrets): of those
 * only name, code and place are kept.
 */
export function describeCauses(error: unknown): object[] {
  const causes: object[] = [];
  for (let cause = error; types.isNativeError(cause) && causes.length < 5; cause = cause.cause) {
    const { name, constructor, message, stack } = cause;
    const code = errorCode(cause);
    causes.push({
      name,
      code,
      // Errors of Node have its plain constructor but a code, and quote paths, in which file names are.
      ...(OWN_ERRORS.includes(constructor.name) && (cause instanceof Problem || code === undefined) ? { message } : {}),
      stack: stack
        ?.split('\n')
        .filter((line) => /^ +at /.test(line))
        .slice(0, 8),
    });
  }
  return causes;
}
