import { setTimeout as delay } from 'node:timers/promises';
import { patientBody } from '../support/factories.js';
import { call, type Answer } from '../support/http.js';

/** A response and its timing. */
export interface Seen {
  /** {@link NO_RESPONSE} when the connection ended before one came. */
  readonly status: number;
  readonly retryAfter: string | null;
  /** Milliseconds: the time of the request and its duration. */
  readonly sentAt: number;
  readonly took: number;
  /** The id of an acknowledged patient. */
  readonly created: string | undefined;
}

/** Requests at a constant rate, whether or not they succeed. */
export interface Load {
  readonly seen: readonly Seen[];
  /** Stops sending, and resolves when all requests have their responses. */
  stop(): Promise<readonly Seen[]>;
}

const PER_SECOND = 50;
/** Not a status of HTTP. */
const NO_RESPONSE = 999;
const none: Pick<Answer, 'status' | 'headers' | 'body'> = { status: NO_RESPONSE, headers: new Headers(), body: null };

/** Reads and creates patients in turn, 50 times a second, without waiting for earlier responses. */
export function startLoad(baseUrl: string, token: string): Load {
  const seen: Seen[] = [];
  const underWay = new Set<Promise<void>>();
  let count = 0;
  const send = async (): Promise<void> => {
    const isCreation = (count += 1) % 2 === 0;
    const sentAt = Date.now();
    const { status, headers, body } = await (
      isCreation
        ? call({ baseUrl }, 'POST /clients', { token, json: patientBody() })
        : call({ baseUrl }, 'GET /clients?email=nobody@example.com', { token })
    ).catch(() => none);
    const created = status === 201 ? String(body.user_id) : undefined;
    seen.push({ status, retryAfter: headers.get('Retry-After'), sentAt, took: Date.now() - sentAt, created });
  };
  const timer = setInterval(() => {
    const request: Promise<void> = send().finally(() => underWay.delete(request));
    underWay.add(request);
  }, 1_000 / PER_SECOND);
  return {
    seen,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
      return seen;
    },
  };
}

/**
 * Waits until a request that was sent after the moment succeeds; returns the time at which the first of these was sent.
 * @throws Error when none does within a minute
 */
export async function healedAfter({ seen }: Load, moment: number): Promise<number> {
  for (const end = Date.now() + 60_000; ;) {
    const first = seen.filter(({ sentAt, status }) => sentAt >= moment && status < 300).map(({ sentAt }) => sentAt);
    if (first.length > 0) return Math.min(...first);
    if (Date.now() > end)
      throw new Error(`no request succeeded within a minute; the last responses: ${JSON.stringify(seen.slice(-9))}`);
    await delay(20);
  }
}
