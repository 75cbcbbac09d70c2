import { createClient, type Client } from '../client/client.js';
import { ApiError } from '../client/errors.js';

/** The ids of this page's requests begin like this, so that it can omit them from the log, after a reload, too. */
export const OWN_ID = 'facade00';

/** The permissions of the API client, which its token names. */
const permissions = new Set<string>();
export const may = (permission: string): boolean => permissions.has(permission);

/** The state that all parts of the page share: one API client of a sandbox, and the open encounter. */
export interface Session {
  readonly client: Client;
  /** The number of the encounter that the page shows. */
  open: number | undefined;
  /** Shows an encounter. */
  show(encounter: number): Promise<void>;
  /** Reads and shows everything again that a change may have affected. */
  refresh(): Promise<void>;
}

/** Signs in. @returns a client whose tenant is certainly a sandbox @throws Error for a live tenant */
export async function signIn(clientId: string, clientSecret: string): Promise<Client> {
  const send = (request: Request): Promise<Response> => {
    request.headers.set('X-Request-Id', OWN_ID + crypto.randomUUID().slice(OWN_ID.length));
    const [, claims = ''] = request.headers.get('Authorization')?.split('.') ?? [];
    const [, scope = ''] = /"scope":"([^"]*)"/.exec(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))) ?? [];
    for (const permission of scope.split(' ')) permissions.add(permission);
    return fetch(request);
  };
  const client = createClient({ baseUrl: location.origin, clientId, clientSecret, fetch: send, retries: 0 });
  await refuseLive(client.get('/sandbox/clock'));
  return client;
}

/** Waits for the response with the clock, which only sandboxes have. @throws Error for a live tenant */
export async function refuseLive(clock: Promise<unknown>): Promise<void> {
  await clock.catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    throw new Error('Sign in with an API client of a sandbox tenant that has the permission sandbox:simulate.');
  });
}
