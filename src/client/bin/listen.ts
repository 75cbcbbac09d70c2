import { createHmac, randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '../client.js';

export interface ListenOptions {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The URL that each event is sent to. */
  readonly forward: string;
  /** The file that keeps the position and the secret. */
  readonly state: string;
  /** Signs the events, `whsec_…`; by default the one of the file, made at the first start. */
  readonly secret: string | undefined;
  /** Only these types of events. */
  readonly types: readonly string[] | undefined;
  /** Ends when an event of this type has been forwarded. */
  readonly until: string | undefined;
  readonly print: (line: string) => void;
}

/** What the file keeps. */
interface State {
  /** The API client and the service that the position belongs to. */
  readonly client: string;
  readonly secret: string;
  /** The cursor before the present page, and the last event of that page that has been forwarded. */
  after?: string;
  last?: string;
}

/** The members of an event that this program knows. */
interface Event {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
}

/** A mistake of the person who called. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Milliseconds between two looks at the feed. */
const INTERVAL = 1_000;
/** Milliseconds before an event is sent again; doubled each time, up to the longest. */
const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;
/** Milliseconds that the receiver has for its answer. */
const TIMEOUT = 30_000;

/**
 * Follows the event feed and sends each event to a receiver, in the order of the feed, as the service sends webhooks
 * (Standard Webhooks 1.0). An event is sent until the receiver answers 2xx. The position is stored after each, so that a
 * restart loses nothing and repeats at most one event.
 * @throws ListenError; ApiError if the service refuses
 */
export async function listen(options: ListenOptions): Promise<void> {
  const { types, until, print } = options;
  const state = await readState(options);
  const ces = createClient(options);
  print(`Secret of the signatures: ${state.secret}`);
  for (;;) {
    const query = { ...(state.after ? { after: state.after } : {}), ...(types ? { types: [...types] } : {}) };
    const page = await ces.get('/events', { params: { query: query as object } });
    const events: readonly Event[] = page.data;
    for (const event of events.slice(events.findIndex(({ id }) => id === state.last) + 1)) {
      await forward(event, state.secret, options);
      state.last = event.id;
      await writeState(options.state, state);
      if (event.type === until) return;
    }
    state.after = page.next_cursor;
    await writeState(options.state, state);
    if (!page.has_more) await pause(INTERVAL);
  }
}

async function forward({ id, ...event }: Event, secret: string, { forward: url, print }: ListenOptions): Promise<void> {
  const body = JSON.stringify(event);
  for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const answer = await send(url, { 'Content-Type': 'application/json', ...signed(secret, id, body) }, body);
    const isDone = typeof answer === 'number' && answer >= 200 && answer < 300;
    print(`${event.timestamp} ${event.type} ${id} → ${answer}${isDone ? '' : `, again in ${wait / 1000} s`}`);
    if (isDone) return;
    await pause(wait);
  }
}

/** @returns the status of the response, or why there is none */
async function send(url: string, headers: Record<string, string>, body: string): Promise<number | string> {
  const signal = AbortSignal.timeout(TIMEOUT);
  try {
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    const { message, cause } = error as Error;
    return cause instanceof Error ? cause.message : message;
  }
}

function signed(secret: string, id: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

async function readState({ state: file, baseUrl, clientId, secret }: ListenOptions): Promise<State> {
  const client = `${clientId} at ${baseUrl}`;
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  const kept = text === null ? { client, secret: `whsec_${randomBytes(24).toString('base64')}` } : parsed(text, file);
  if (kept.client !== client) {
    throw new ListenError(`${file} belongs to ${kept.client}. Name another file with --state, or delete this one.`);
  }
  return secret ? { ...kept, secret } : kept;
}

function parsed(text: string, file: string): State {
  try {
    return JSON.parse(text) as State;
  } catch {
    throw new ListenError(`${file} is damaged. Delete it to begin with the oldest event.`);
  }
}

/** A crash leaves the old state or the new one. */
async function writeState(file: string, state: State): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
