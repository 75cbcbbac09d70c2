import { checks, makerOf, type Message } from './checks.js';
import { isHttp, keyOf, post } from './delivery.js';
import { UsageError } from './usageError.js';

/** One request to the receiver: the status of the response, or as `error` the reason why there was none. */
interface Attempt {
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

/** One expectation of the receiver, and how the receiver met it. */
interface CheckResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'not_judged';
  /** The requests of the check; the first three checks judge the same request. */
  readonly seen: readonly Attempt[];
  /** How to meet the expectation, or why it was not judged; null if it is met. */
  readonly remedy: string | null;
}

export interface Report {
  readonly url: string;
  readonly passed: number;
  readonly failed: number;
  readonly not_judged: number;
  readonly checks: readonly CheckResult[];
}

const isLost = ({ httpStatus: status }: Attempt): boolean => status === null;
const isRedirect = ({ httpStatus: status }: Attempt): boolean => status !== null && status >= 300 && status < 400;
const isAccepted = ({ httpStatus: status }: Attempt): boolean => status !== null && status >= 200 && status < 300;
const isRejected = ({ httpStatus: status }: Attempt): boolean => status !== null && status >= 400;

/**
 * Sends events, forgeries and repetitions to a receiver, one after the other, and judges the statuses of its responses.
 * @param secret `whsec_…`, with which the receiver verifies signatures
 * @throws UsageError if a parameter is invalid
 */
export async function examine(url: string, secret: string): Promise<Report> {
  if (!isHttp(url)) {
    throw new UsageError('examine needs the http(s) URL of the receiver, for example http://127.0.0.1:4000/hooks.');
  }
  if (keyOf(secret).length === 0)
    throw new UsageError(
      'Give the secret with which the receiver verifies signatures (whsec_ and base64) by --secret or WEBHOOK_SECRET.',
    );
  const send = async ({ headers, body }: Message): Promise<Attempt> => {
    const start = performance.now();
    const answer = await post(url, headers, body);
    const [httpStatus, error] = typeof answer === 'number' ? [answer, null] : [null, answer];
    return { httpStatus, error, durationMs: Math.round(performance.now() - start) };
  };
  const maker = makerOf(secret);
  const first = await send(maker.valid);
  const results = [...judgeFirst(first)];
  for (const { name, remedy, messages } of checks) {
    const seen: Attempt[] = [];
    if (isAccepted(first)) for (const message of messages(maker)) seen.push(await send(message));
    const isRejection = name.startsWith('rejects_');
    if (!isAccepted(first))
      results.push(notJudged(name, seen, 'the receiver did not accept a valid event: correct that first.'));
    else if (isRejection && seen.some(isLost))
      results.push(
        notJudged(
          name,
          seen,
          'a request had no response: respond to each within 15 seconds, also to one that you reject.',
        ),
      );
    else results.push(judged(name, seen, remedy, isRejection ? isRejected : isAccepted));
  }
  const count = (wanted: CheckResult['outcome']): number => results.filter(({ outcome }) => outcome === wanted).length;
  const [passed, failed, not_judged] = [count('passed'), count('failed'), count('not_judged')];
  return { url, passed, failed, not_judged, checks: results };
}

const COLORS = { passed: 'green', failed: 'red', not_judged: 'yellow' } as const;
type Color = (color: 'green' | 'yellow' | 'red', text: string) => string;

/** A report as text: a line for each check, with the remedy below, and the counts. */
export function textOf({ passed, failed, not_judged, checks: results }: Report, color: Color): string {
  const lines = results.map(({ name, outcome, seen, remedy }) => {
    const responses = seen.map(({ httpStatus, error, durationMs }) => `${httpStatus ?? error} in ${durationMs} ms`);
    const line = `${color(COLORS[outcome], outcome.padEnd(10))}  ${name.padEnd(25)}  ${responses.join(', ')}`.trimEnd();
    return remedy === null ? line : `${line}\n            ${remedy}`;
  });
  return [...lines, `${passed} passed, ${failed} failed, ${not_judged} not judged.`, ''].join('\n');
}

/** The results of the three checks of the first request. */
function judgeFirst(first: Attempt): readonly CheckResult[] {
  const seen = [first];
  const reachable =
    'Start the receiver, check the URL and, for https, its certificate, and respond within 15 seconds, before you process the event.';
  const direct = 'Use a URL that responds without a redirect: the service does not follow one.';
  const accepted =
    'Respond with a 2xx to a correctly signed event, including `webhook.ping`. Check the URL, the secret, your clock, and that you verify the bytes of the body as they arrived.';
  const responds = judged('responds_in_time', seen, reachable, (attempt) => !isLost(attempt));
  if (isLost(first)) {
    const others = ['does_not_redirect', 'accepts_valid_event'];
    return [
      responds,
      ...others.map((name) => notJudged(name, seen, 'the request had no response: correct that first.')),
    ];
  }
  return [
    responds,
    judged('does_not_redirect', seen, direct, (attempt) => !isRedirect(attempt)),
    judged('accepts_valid_event', seen, accepted, isAccepted),
  ];
}

function judged(
  name: string,
  seen: readonly Attempt[],
  remedy: string,
  isMet: (attempt: Attempt) => boolean,
): CheckResult {
  const isPassed = seen.every(isMet);
  return { name, outcome: isPassed ? 'passed' : 'failed', seen, remedy: isPassed ? null : remedy };
}

const notJudged = (name: string, seen: readonly Attempt[], cause: string): CheckResult => ({
  name,
  outcome: 'not_judged',
  seen,
  remedy: `Not judged, because ${cause}`,
});
