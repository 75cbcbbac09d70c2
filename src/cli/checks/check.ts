import { endsWithin } from '../../adapters/endsWithin.js';
import { errorCode, reasonOf } from '../../failures.js';

/** The result of a check, without secrets and health data. */
interface Result {
  readonly level: 'ok' | 'warning' | 'failure';
  readonly message: string;
  /** Null = none is needed. */
  readonly remedy: string | null;
}

export interface Finding extends Result {
  readonly check: string;
}

/** One part of an installation. */
export interface Check {
  readonly name: string;
  /** For an error of `run`, or if it is late. */
  readonly remedy: string;
  run(): Promise<Result | Result[]>;
}

/** Milliseconds for each check, which must not delay the others. */
export const CHECK_TIMEOUT_MS = 5_000;

export const ok = (message: string): Result => ({ level: 'ok', message, remedy: null });
export const warning = (message: string, remedy: string): Result => ({ level: 'warning', message, remedy });
export const failure = (message: string, remedy: string): Result => ({ level: 'failure', message, remedy });

/** The findings of all checks, in their order. Never rejects: an error is a failure of its check. */
export async function runChecks(checks: readonly Check[]): Promise<Finding[]> {
  return (await Promise.all(checks.map(runCheck))).flat();
}

async function runCheck({ name, remedy, run }: Check): Promise<Finding[]> {
  let results: Result[] = [];
  try {
    const work = run().then((result) => (results = [result].flat()));
    const isInTime = await endsWithin(CHECK_TIMEOUT_MS, work);
    if (!isInTime) results = [failure(`There is no answer within ${CHECK_TIMEOUT_MS / 1000} s.`, remedy)];
  } catch (error) {
    results = [failure(`${causeOf(error)}.`.replace(/\.\.$/, '.'), remedy)];
  }
  return results.map((result) => ({ check: name, ...result }));
}

/** The reason of an error. A refused connection to several addresses has a code but no message. */
export function causeOf(error: unknown): string {
  const code = errorCode(error instanceof Error ? (error.cause ?? error) : error);
  return reasonOf(error) || (typeof code === 'string' ? code : 'unknown error');
}
