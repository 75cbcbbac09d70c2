import { endsWithin } from '../../adapters/endsWithin.js';
import { lastLine } from '../../failures.js';

/** The result of a check, without secrets and health data. */
export interface Result {
  readonly level: 'ok' | 'warning' | 'failure';
  readonly message: string;
  /** What the operator should do; null if nothing is needed. */
  readonly remedy: string | null;
}

export interface Finding extends Result {
  readonly check: string;
}

/** The check of one part of an installation. */
export interface Check {
  readonly name: string;
  /** The remedy if `run` throws or does not end in time. */
  readonly remedy: string;
  run(): Promise<Result | Result[]>;
}

export const checkOf = (name: string, remedy: string, run: Check['run']): Check => ({ name, remedy, run });

/** Maximum milliseconds for a check, so that it does not delay the others. */
export const CHECK_TIMEOUT_MS = 5_000;

export const ok = (message: string): Result => ({ level: 'ok', message, remedy: null });
export const warning = (message: string, remedy: string): Result => ({ level: 'warning', message, remedy });
export const failure = (message: string, remedy: string): Result => ({ level: 'failure', message, remedy });

/** Runs all checks and returns their findings in order. Never rejects: an error counts as a failure of its check. */
export async function runChecks(checks: readonly Check[], timeoutMs = CHECK_TIMEOUT_MS): Promise<Finding[]> {
  return (await Promise.all(checks.map((check) => runCheck(check, timeoutMs)))).flat();
}

async function runCheck({ name, remedy, run }: Check, timeoutMs: number): Promise<Finding[]> {
  let results: Result[] = [];
  try {
    const work = run().then((result) => (results = [result].flat()));
    const isInTime = await endsWithin(timeoutMs, work);
    if (!isInTime) results = [failure(`There is no answer within ${timeoutMs / 1000} s.`, remedy)];
  } catch (error) {
    results = [failure(`${causeOf(error)}.`.replace(/\.\.$/, '.'), remedy)];
  }
  return results.map((result) => ({ check: name, ...result }));
}

/** The reason of an error on one line. */
export const causeOf = (error: unknown): string => lastLine(error instanceof Error ? (error.cause ?? error) : error);
