import { setTimeout as delay } from 'node:timers/promises';
import { patientBody } from '../support/factories.js';
import { call, type Answer } from '../support/http.js';

/** A response, and when it came. */
export interface Seen {
  /** {@link NO_RESPONSE} when the connection ended before one came. */
  readonly status: number;
  readonly retryAfter: string | null;
  /** Milliseconds: when it was asked for and how long it took. */
  readonly sentAt: number;
  readonly took: number;
  /** Of a patient that was acknowledged. */
  readonly created: string | undefined;
}

/** Requests that go on whatever becomes of them. */
export interface Load {
  readonly seen: readonly Seen[];
  /** Sends no more, and resolves when all have their responses. */
  stop(): Promise<readonly Seen[]>;
}

const PER_SECOND = 50;
/** No status of HTTP. */
const NO_RESPONSE = 999;
const none: Pick<Answer, 'status' | 'headers' | 'body'> = { status: NO_RESPONSE, headers: new Headers(), body: null };

/** Reads and creates patients in turn, 50 times a second, without waiting for what was asked before. */
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
    const one: Promise<void> = send().finally(() => underWay.delete(one));
    underWay.add(one);
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
 * Resolves when a request that was sent after the moment has succeeded; returns when the first such one was sent.
 * @throws Error when none does within a minute
 */
export async function healedAfter({ seen }: Load, moment: number): Promise<number> {
  for (const end = Date.now() + 60_000; ;) {
    const first = seen.filter(({ sentAt, status }) => sentAt >= moment && status < 300).map(({ sentAt }) => sentAt);
    if (first.length > 0) return Math.min(...first);
    if (Date.now() > end)
      throw new Error(`nothing has succeeded since; the last responses: ${JSON.stringify(seen.slice(-9))}`);
    await delay(20);
  }
}
