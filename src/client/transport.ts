import { ApiError } from './errors.js';

export interface ClientOptions {
  /** Where the service is, without a final slash. */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Fewer permissions than the API client has, separated by blanks. */
  readonly scope?: string;
  /** How often a request is sent again after a failure that may pass; 2 unless said otherwise. */
  readonly retries?: number;
  /** Milliseconds that are waited at most before sending again: after a longer Retry-After the call fails; 30 000. */
  readonly longestWait?: number;
  /** Replaces `globalThis.fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

type Fetch = NonNullable<ClientOptions['fetch']>;

/** Milliseconds before its end that a token is no longer used. */
const EARLY = 60_000;
/** Milliseconds before the first repetition when the service names no time; then twice as long each time. */
const FIRST_WAIT = 500;

/** Sends requests with a token and, where that cannot do harm, again after a failure that may pass. */
export function authorizedFetch(options: ClientOptions): Fetch {
  const { retries = 2, longestWait = 30_000 } = options;
  const send: Fetch = options.fetch ?? ((request) => globalThis.fetch(request));
  const tokenOf = tokens(options, (request) => repeated(request, true));

  async function repeated(request: Request, isRepeatable: boolean): Promise<Response> {
    for (let again = retries; ; again -= 1) {
      const response = await send(request.clone()).catch((error: unknown) => {
        if (again <= 0 || !isRepeatable || request.signal.aborted) throw error;
        return null;
      });
      if (response && (again <= 0 || !mayPass(response, isRepeatable))) return response;
      const wait = waitAfter(response, retries - again);
      if (response && wait > longestWait) return response;
      await response?.body?.cancel();
      await pause(wait, request.signal);
    }
  }

  return async (request) => {
    // A DELETE that was done would be a 404 the second time.
    const isRepeatable = !['POST', 'DELETE'].includes(request.method) || request.headers.has('Idempotency-Key');
    const token = await tokenOf();
    const response = await repeated(withToken(request, token), isRepeatable);
    if (response.status !== 401) return response;
    // It has ended early, for example because the operator revoked it. Nothing was done.
    const { code } = await ApiError.of(response.clone());
    if (code !== 'token_expired' && code !== 'token_invalid') return response;
    return repeated(withToken(request, await tokenOf(token)), isRepeatable);
  };
}

/** One token for all calls: those that come while it is being renewed wait for it. */
function tokens({ baseUrl, clientId, clientSecret, scope }: ClientOptions, send: Fetch) {
  let current: { readonly token: string; readonly until: number } | undefined;
  let renewal: Promise<string> | undefined;
  const renew = async (): Promise<string> => {
    const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope };
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json' };
    const asked = Date.now();
    const response = await send(
      new Request(`${baseUrl}/oauth/token`, { method: 'POST', headers, body: JSON.stringify(body) }),
    );
    if (!response.ok) throw await ApiError.of(response);
    const { access_token: token, expires_in } = (await response.json()) as { access_token: string; expires_in: number };
    current = { token, until: asked + expires_in * 1000 - EARLY };
    return token;
  };
  /** @param refused a token that is not to be used again */
  return (refused?: string): Promise<string> => {
    if (current && current.token !== refused && current.until > Date.now()) return Promise.resolve(current.token);
    return (renewal ??= renew().finally(() => (renewal = undefined)));
  };
}

function withToken(request: Request, token: string): Request {
  const authorized = request.clone();
  authorized.headers.set('Authorization', `Bearer ${token}`);
  return authorized;
}

/** A 429 comes before any effect; a 5xx or a 409 `idempotency_in_progress` may not, so only what is safe to repeat is. */
function mayPass({ status, headers }: Response, isRepeatable: boolean): boolean {
  if (status === 429) return true;
  return isRepeatable && ([500, 502, 503, 504].includes(status) || (status === 409 && headers.has('Retry-After')));
}

function waitAfter(response: Response | null, nth: number): number {
  const seconds = Number(response?.headers.get('Retry-After') ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : FIRST_WAIT * 2 ** nth * (0.5 + Math.random() / 2);
}

const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason as Error)), { once: true });
  });
