import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '../client.js';
import { keyOf, post, signedHeaders } from './delivery.js';
import { UsageError } from './usageError.js';

export interface ListenOptions {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The receiver's URL, to which each event is sent. */
  readonly forward: string;
  /** The file that keeps the position in the feed and the secret. */
  readonly state: string;
  /** The secret that signs the events (`whsec_…`); by default the file's own, created at the first start. */
  readonly secret: string | undefined;
  /** Send only events of these types. */
  readonly types: readonly string[] | undefined;
  /** Stop after forwarding an event of this type. */
  readonly until: string | undefined;
  readonly print: (line: string) => void;
}

/** The content of the state file. */
interface State {
  /** The API client and the service to which the position belongs. */
  readonly client: string;
  /** The file's own secret, which signs unless the user has set one. */
  readonly secret: string;
  /** `cursor` is the position before the current page; `last` is the last forwarded event. */
  cursor?: string;
  last?: string;
}

/** The members of an event that this program reads. */
interface Event {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
}

/** Milliseconds from the end of the feed to the next request. */
const INTERVAL = 1_000;
/** Milliseconds before an event is sent again. The wait doubles with each attempt, up to `LONGEST_WAIT`. */
const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;

/** What a user can do whose state file is of no use. */
export const START_OVER =
  'name another file with --state, which begins with the oldest event and, without WEBHOOK_SECRET, a new secret';

/**
 * Follows the event feed and sends each event, or those of `types`, to a receiver, in the order of the feed and in the
 * form of the service's webhooks (Standard Webhooks 1.0). Repeats an event until the receiver answers 2xx. Stores the
 * position after each event, so that a restart loses nothing and repeats at most one event.
 * @throws UsageError; ApiError if the service refuses; errors of the connection and of the state file
 */
export async function listen(options: ListenOptions): Promise<void> {
  const { types, until, secret, print } = options;
  const state = await readState(options);
  const ces = createClient(options);
  // Never print or store a secret that the user has set: it would appear in the log of a CI.
  if (!secret) print(`Secret of the signatures: ${state.secret}`);
  for (;;) {
    const query = { ...(state.cursor ? { cursor: state.cursor } : {}), ...(types ? { types: [...types] } : {}) };
    for await (const { data, next_cursor } of ces.pages('/events', query as object)) {
      for (const event of data.slice(data.findIndex(({ id }) => id === state.last) + 1)) {
        await forward(event, secret || state.secret, options);
        state.last = event.id;
        await writeState(options.state, state);
        if (event.type === until) return;
      }
      state.cursor = next_cursor;
      await writeState(options.state, state);
    }
    await pause(INTERVAL);
  }
}

async function forward({ id, ...event }: Event, secret: string, { forward: url, print }: ListenOptions): Promise<void> {
  const body = JSON.stringify(event);
  for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const answer = await post(url, signedHeaders([keyOf(secret)], id, body), body);
    const isDone = typeof answer === 'number' && answer >= 200 && answer < 300;
    print(`${event.timestamp} ${event.type} ${id} → ${answer}${isDone ? '' : `, again in ${wait / 1000} s`}`);
    if (isDone) return;
    await pause(wait);
  }
}

async function readState({ state: file, baseUrl, clientId }: ListenOptions): Promise<State> {
  const client = `${clientId} at ${baseUrl.replace(/\/+$/, '')}`;
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  const kept = text === null ? { client, secret: `whsec_${randomBytes(24).toString('base64')}` } : parsed(text, file);
  if (kept.client !== client) {
    throw new UsageError(`${file} belongs to ${kept.client}: correct CLIENT_ID or CES_URL, or ${START_OVER}.`);
  }
  return kept;
}

function parsed(text: string, file: string): State {
  try {
    const state = JSON.parse(text) as Partial<State> | null;
    if (typeof state?.client === 'string' && typeof state.secret === 'string') return state as State;
  } catch {
    // Not JSON: damaged, too.
  }
  throw new UsageError(`${file} is damaged, or not a state file of this program: ${START_OVER}.`);
}

/** Replaces the file atomically: after a crash, it has either the old or the new state. */
async function writeState(file: string, state: State): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
