import { createWriteStream } from 'node:fs';
import { parsed } from '../support/http.js';

/** JSON of a response, which the auditor does not trust to match the contract. */
export type Json = any;

export interface Client {
  readonly name: string;
  readonly tenant: string;
  readonly role: 'partner' | 'limited' | 'provider' | 'billing' | 'pharmacy';
  readonly clientId: string;
  readonly clientSecret: string;
  token?: string;
}

/** One request and its response. Times are ticks of one clock, so that no two are equal. */
export interface Attempt {
  readonly requestId: string;
  readonly sent: number;
  /** Milliseconds of the real time: when it was sent, and how long it took. */
  readonly at: number;
  took: number;
  /** Infinity without a response. */
  got: number;
  /** Null without a complete response. */
  status: number | null;
  body: Json;
  etag: string | null;
  retryAfter: string | null;
  isReplay: boolean;
}

/** A client's wish that something happens once: its attempts have one idempotency key. */
export interface Intent {
  readonly operation: string;
  readonly client: Client;
  readonly method: string;
  readonly path: string;
  readonly input?: Json;
  readonly key?: string;
  readonly ifMatch?: string;
  /** The records that it is about. */
  readonly encounter?: number;
  readonly order?: string;
  readonly patient?: string;
  readonly document?: string;
  /** A fact for the auditor that the input lacks, such as the reference of a refunded payment. */
  readonly note?: string;
  /** It names a record of another tenant. */
  readonly isForeign?: boolean;
  /** It reuses the key of another intent with another body. */
  readonly isReuse?: boolean;
  readonly attempts: Attempt[];
}

/** Every request of a run with its response, in memory and in a file. */
export interface History {
  readonly intents: Intent[];
  readonly file: string;
  /** How many attempts have got an answer ({@link isAnswer}). */
  answers(): number;
  /** Sends one request to a server. Appends it to the file when it has ended. */
  attempt(baseUrl: string, intent: Intent, requestId: string): Promise<Attempt>;
  close(): Promise<void>;
}

/** Milliseconds after which a caller gives up. */
export const TIMEOUT_MS = 20_000;

/** @param file to write one line of JSON for each request */
export function openHistory(file: string): History {
  const stream = createWriteStream(file);
  const intents: Intent[] = [];
  let tick = 0;
  let answers = 0;
  return {
    intents,
    file,
    answers: () => answers,
    async attempt(baseUrl, intent, requestId) {
      if (intent.attempts.length === 0) intents.push(intent);
      const attempt: Attempt = {
        ...{ requestId, sent: (tick += 1), at: Date.now(), took: 0, got: Infinity },
        ...{ status: null, body: undefined, etag: null, retryAfter: null, isReplay: false },
      };
      intent.attempts.push(attempt);
      const { method, path, input, key, ifMatch, client } = intent;
      const headers = {
        Authorization: `Bearer ${client.token}`,
        'X-Request-Id': requestId,
        ...(input === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
        ...(ifMatch === undefined ? {} : { 'If-Match': ifMatch }),
      };
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const body = input === undefined ? {} : { body: JSON.stringify(input) };
      try {
        const response = await fetch(baseUrl + path, { method, headers, signal, ...body });
        const text = await response.text();
        attempt.etag = response.headers.get('ETag');
        attempt.retryAfter = response.headers.get('Retry-After');
        attempt.isReplay = response.headers.has('Idempotent-Replayed');
        attempt.body = parsed(text);
        attempt.status = response.status;
        attempt.got = tick += 1;
        if (isAnswer(attempt)) answers += 1;
      } catch {
        // The connection was cut: the outcome is unknown.
      }
      attempt.took = Date.now() - attempt.at;
      const { client: _client, attempts: _attempts, ...shown } = intent;
      stream.write(`${JSON.stringify({ client: client.name, ...shown, ...attempt })}\n`);
      return attempt;
    },
    close: () => new Promise((resolve) => stream.end(resolve)),
  };
}

/** The outcome of a request is known: it was done or refused. */
export function isAnswer({ status, body }: Attempt): boolean {
  return status !== null && status < 500 && status !== 408 && body?.code !== 'idempotency_in_progress';
}

/** A request that changes nothing. */
export function isRead({ method, operation }: Pick<Intent, 'method' | 'operation'>): boolean {
  return method === 'GET' || operation === 'getEncounterStatus' || operation === 'previewEncounter';
}

/** The first response that says that the intent was done. */
export function success({ attempts }: Intent): Attempt | undefined {
  return attempts.find(({ status }) => status !== null && status < 300);
}
