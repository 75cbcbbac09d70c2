import { createClient, type Client } from '../client/client.js';
import { ApiError } from '../client/errors.js';

/** The ids of this page's requests, so that it can leave them out of the log. */
export const ownRequests = new Set<string>();

/** The parts of the page share one client of a sandbox. */
export interface Session {
  readonly client: Client;
  /** The encounter that is shown. */
  open: number | undefined;
  /** Shows an encounter. */
  show(encounter: number): Promise<void>;
  /** Reads everything that a change can have changed. */
  refresh(): Promise<void>;
}

/** A client that has shown that its tenant is a sandbox. @throws Error for a live tenant */
export async function signIn(clientId: string, clientSecret: string): Promise<Client> {
  const send = (request: Request): Promise<Response> => {
    const id = crypto.randomUUID();
    ownRequests.add(id);
    request.headers.set('X-Request-Id', id);
    return fetch(request);
  };
  const client = createClient({ baseUrl: location.origin, clientId, clientSecret, fetch: send, retries: 0 });
  await refuseLive(client.get('/sandbox/clock'));
  return client;
}

/** Waits for the clock, which only a sandbox has. @throws Error for a live tenant */
export async function refuseLive(clock: Promise<unknown>): Promise<void> {
  await clock.catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    throw new Error('Sign in with an API client of a sandbox tenant that has the permission sandbox:simulate.');
  });
}
