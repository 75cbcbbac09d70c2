import { ApiError, retryAfter } from './errors.js';

export interface ClientOptions {
  /** The address of the service. */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A subset of the API client's permissions, separated by blanks. */
  readonly scope?: string;
  /** Retries after temporary failures; default 2. */
  readonly retries?: number;
  /** Longest wait after a response, in milliseconds. If Retry-After is longer, the call fails. Default 30 000. */
  readonly longestWait?: number;
  /** Milliseconds until an attempt, including reading the response, ends with a `TimeoutError`; default 30 000. */
  readonly timeout?: number;
  /** Replaces `globalThis.fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

type Fetch = NonNullable<ClientOptions['fetch']>;

/** Milliseconds before its expiry when a token is renewed. */
const EARLY = 60_000;
/** Maximum of milliseconds before the first retry without Retry-After; doubled each time. */
const FIRST_WAIT = 500;

/** Sends requests with a token, and retries after temporary failures if that is safe. */
export function authorizedFetch(options: ClientOptions): Fetch {
  const { retries = 2, longestWait = 30_000, timeout = 30_000 } = options;
  const send: Fetch = options.fetch ?? ((request) => globalThis.fetch(request));
  const tokenOf = tokens(options, (request) => repeated(request, true));

  async function repeated(request: Request, isRepeatable: boolean): Promise<Response> {
    for (let again = retries; ; again -= 1) {
      const limit = AbortSignal.timeout(timeout);
      const attempt = new Request(request.clone(), { signal: AbortSignal.any([request.signal, limit]) });
      // Keep both requests in memory: garbage collection of a Request would stop its signal.
      limit.onabort = () => [request, attempt];
      const response = await send(attempt).catch((error: unknown) => {
        if (again <= 0 || !isRepeatable || request.signal.aborted) throw error;
        return null;
      });
      if (response && (again <= 0 || !mayPass(request, response, isRepeatable))) return response;
      const wait = waitAfter(response, retries - again);
      if (response && wait > longestWait) return response;
      await response?.body?.cancel();
      await pause(wait, request.signal);
    }
  }

  return async (request) => {
    // Exclude DELETE: repeating one that succeeded would give 404.
    const isRepeatable = !['POST', 'DELETE'].includes(request.method) || request.headers.has('Idempotency-Key');
    const token = await tokenOf();
    const response = await repeated(withToken(request, token), isRepeatable);
    if (response.status !== 401) return response;
    // The token was refused, for example after a revocation, and nothing was done.
    const { code } = await ApiError.of(response);
    if (code !== 'token_expired' && code !== 'token_invalid') return response;
    return repeated(withToken(request, await tokenOf(token)), isRepeatable);
  };
}

/** Shares one token among all calls, and one renewal among those that need a new token. */
function tokens({ baseUrl, clientId, clientSecret, scope }: ClientOptions, send: Fetch) {
  let current: { readonly token: string; readonly until: number } | undefined;
  let renewal: Promise<string> | undefined;
  const renew = async (): Promise<string> => {
    const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope };
    const headers = { 'Content-Type': 'application/json' };
    const asked = Date.now();
    const response = await send(
      new Request(`${baseUrl}/oauth/token`, { method: 'POST', headers, body: JSON.stringify(body) }),
    );
    if (!response.ok) throw await ApiError.of(response);
    const { access_token: token, expires_in } = (await response.json()) as { access_token: string; expires_in: number };
    current = { token, until: asked + expires_in * 1000 - EARLY };
    return token;
  };
  /** @param refused a rejected token, not to be used again */
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

/**
 * Whether a retry is safe and may succeed. A 429 comes before any work is done. 502, 503, 504 and 409 with Retry-After
 * may be temporary. After a 500, a retry with the same key does only work that was not done.
 */
function mayPass(request: Request, { status, headers }: Response, isRepeatable: boolean): boolean {
  if (status === 429) return true;
  if (status === 500) return request.headers.has('Idempotency-Key');
  return isRepeatable && ([502, 503, 504].includes(status) || (status === 409 && headers.has('Retry-After')));
}

function waitAfter(response: Response | null, nth: number): number {
  const seconds = response && retryAfter(response);
  return seconds === null ? FIRST_WAIT * 2 ** nth * (0.5 + Math.random() / 2) : seconds * 1000;
}

const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason as Error)), { once: true });
  });
