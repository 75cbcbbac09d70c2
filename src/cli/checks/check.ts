import { POOLER_REMEDY } from '../../adapters/database/databaseUrl.js';
import { endsWithin } from '../../adapters/endsWithin.js';
import { causeOf } from '../../failures.js';

/** The result of a check, without secrets and health data. */
export interface Result {
  readonly level: 'ok' | 'warning' | 'failure';
  readonly message: string;
  /** The advice to the operator; null if nothing is needed. */
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
  /** Milliseconds for a check that needs more than the usual time. */
  readonly timeoutMs?: number;
  run(): Promise<Result | Result[]>;
}

export const checkOf = (name: string, remedy: string, run: Check['run']): Check => ({ name, remedy, run });

/** Maximum milliseconds for a check without a `timeoutMs`, so that it does not delay the others. */
export const CHECK_TIMEOUT_MS = 5_000;

export const ok = (message: string): Result => ({ level: 'ok', message, remedy: null });
export const warning = (message: string, remedy: string): Result => ({ level: 'warning', message, remedy });
export const failure = (message: string, remedy: string): Result => ({ level: 'failure', message, remedy });

/** Remedies for particular causes; they replace the remedy of the check. The object store names a cause by Node's code. */
const REMEDIES: readonly (readonly [cause: RegExp, remedy: string])[] = [
  [
    /self[-_]signed[ _]cert|unable[ _]to[ _](get[ _](local[ _])?issuer|verify[ _](the[ _]first|leaf))/i,
    'Set NODE_EXTRA_CA_CERTS to the file with the certificate of your authority (for PostgreSQL: sslrootcert in the URL). If the authority is public, let the other program present its intermediate certificates.',
  ],
  [
    /cert(ificate)?[ _]has[ _]expired/i,
    "Renew the certificate, and reload the program that presents it; or correct this machine's clock.",
  ],
  POOLER_REMEDY,
  // The disk's check has its own remedy: it opens no file.
  [
    /EACCES: permission denied, (open|stat)/,
    'Run doctor as the user of the service. If the message stays, let this user use the file and its folder.',
  ],
  [/ENOSPC/, 'Free space on the disk of DATA_DIR, or enlarge it.'],
  [/WRONGPASS|NOAUTH/, 'Correct the user and password in RATE_LIMIT_REDIS_URL.'],
];

/** The remedy for a cause. @param usual the remedy for other causes */
export const remedyFor = (cause: string, usual: string): string =>
  REMEDIES.find(([pattern]) => pattern.test(cause))?.[1] ?? usual;

/** Runs all checks and returns their findings in order. Never rejects: an error counts as a failure of its check. */
export async function runChecks(checks: readonly Check[]): Promise<Finding[]> {
  return (await Promise.all(checks.map(runCheck))).flat();
}

async function runCheck({ name, remedy, run, timeoutMs = CHECK_TIMEOUT_MS }: Check): Promise<Finding[]> {
  let results: Result[] = [];
  try {
    const work = run().then((result) => (results = [result].flat()));
    const isInTime = await endsWithin(timeoutMs, work);
    if (!isInTime) results = [failure(`There is no answer within ${timeoutMs / 1000} s.`, remedy)];
  } catch (error) {
    const cause = causeOf(error);
    results = [failure(`${cause}.`, remedyFor(cause, remedy))];
  }
  return results.map((result) => ({ check: name, ...result }));
}
