import { createClient, type Client } from '../client/client.js';
import { ApiError } from '../client/errors.js';
import type { ClientOptions } from '../client/transport.js';

/** The ids of this page's requests begin with this text: the page omits them from its list, even after a reload. */
export const OWN_ID = 'facade00';

/** The permissions of the API client, which its token names. */
const permissions = new Set<string>();
export const may = (permission: string): boolean => permissions.has(permission);

/** The state that all parts of the page share: one API client of a sandbox, and the open encounter. */
export interface Session {
  readonly client: Client;
  /** The number of the encounter that the page shows. */
  open: number | undefined;
  show(encounter: number): Promise<void>;
  /** Waits for a change, tells the user that it was made, and refreshes. */
  change(work: Promise<unknown>, text: string): Promise<void>;
  /** Reads and shows everything again that a change may have affected. */
  refresh(): Promise<void>;
}

export type Credentials = Pick<ClientOptions, 'clientId' | 'clientSecret'>;

/** The key under which this tab stores the credentials of a sandbox, for the workbench and Run (D-317). */
const KEPT = 'sandbox';
export const kept = (): Credentials | null => JSON.parse(sessionStorage.getItem(KEPT) ?? 'null') as Credentials | null;
export const signOut = (): void => sessionStorage.removeItem(KEPT);

/** Signs in. @returns a client whose tenant is certainly a sandbox @throws Error unless {@link keep} kept the credentials */
export async function signIn(credentials: Credentials): Promise<Client> {
  const send = (request: Request): Promise<Response> => {
    request.headers.set('X-Request-Id', OWN_ID + crypto.randomUUID().slice(OWN_ID.length));
    const [, claims = ''] = request.headers.get('Authorization')?.split('.') ?? [];
    const [, scope = ''] = /"scope":"([^"]*)"/.exec(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))) ?? [];
    for (const permission of scope.split(' ')) permissions.add(permission);
    return fetch(request);
  };
  const client = createClient({ baseUrl: location.origin, ...credentials, fetch: send, retries: 0 });
  await keep(credentials, client.sandbox.getClock());
  return client;
}

/** Keeps credentials after the response with the clock, which only sandboxes have. @throws Error if there is none */
export async function keep(credentials: Credentials, clock: Promise<unknown>): Promise<void> {
  await clock.catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status !== 403) throw error;
    throw new Error('Sign in with an API client that has the permission sandbox:simulate in a sandbox tenant.');
  });
  sessionStorage.setItem(KEPT, JSON.stringify(credentials));
}

/** The first page of a list. */
export async function firstPage<Page>(pages: AsyncIterator<Page>): Promise<Page> {
  return (await pages.next()).value as Page;
}
