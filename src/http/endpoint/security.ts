import { LRUCache } from 'lru-cache';
import type { Caller, DomainContext, PublicContext } from '../../context.js';
import type { TokenClaims } from '../../adapters/tokens/tokens.js';
import { callerOf, findClientState, type ClientState } from '../../domain/access/callerState.js';
import type { Permission } from '../../contract.js';
import { isRevoked } from '../../domain/access/issueTokens.js';
import { Problem } from '../../problem.js';

/** Maximum of entries in each cache; one token serves thousands of calls. */
const CACHE_MAX = 10_000;
/** Milliseconds that entries are cached (below 30 s). Until then, a deactivated client or a retired key still works. */
const CACHE_TTL_MS = 29_999;
/** Milliseconds that a sandbox's clients are cached: few, because another server may have moved its clock. */
const SANDBOX_TTL_MS = 1_000;
const LEEWAY_MS = 30_000;

/** The permissions for an operation: the caller must have all permissions of one alternative. */
export type Alternatives = readonly (readonly string[])[];

/** The caller, its tenant's clock offset and its own limit. */
export interface Authenticated extends Pick<ClientState, 'clockOffsetMs' | 'requestsPerMinute'> {
  readonly caller: Caller;
}

/** A verified token. `authenticated` is derived from `state`; both are replaced when the client is read again. */
interface Verified {
  readonly claims: TokenClaims;
  state?: ClientState;
  authenticated?: Authenticated;
}

/** Creates the Bearer authentication (RFC 6750) with its caches. */
export function bearerAuthentication({ now: serviceTime }: Pick<DomainContext, 'now'>) {
  const perf = { now: () => serviceTime().getTime() };
  const options = { max: CACHE_MAX, ttl: CACHE_TTL_MS, ttlResolution: 0, perf };
  const tokens = new LRUCache<string, Verified>(options);
  // Caches promises, so that `forget` also discards a state that is still being read.
  const states = new LRUCache<string, Promise<ClientState>>(options);

  const verify = async (context: PublicContext, token: string, now: Date): Promise<Verified> => {
    const known = tokens.get(token);
    const claims = known?.claims ?? (await context.tokens.verify('access', token, now));
    if (claims === 'expired' || (typeof claims === 'object' && isOver(claims, now))) throw new Problem('token_expired');
    if (claims === 'invalid') throw new Problem('token_invalid');
    const verified = known ?? { claims };
    if (!known) tokens.set(token, verified);
    return verified;
  };

  const stateOf = async (context: PublicContext, claims: TokenClaims): Promise<ClientState> => {
    const key = `${claims.tenant_id} ${claims.client_id}`;
    const known = await states.get(key);
    const isRecent = states.getRemainingTTL(key) > CACHE_TTL_MS - SANDBOX_TTL_MS;
    if (known && (known.tenantMode === 'live' || isRecent)) return known;
    const state = findClientState(context, claims).then((client) => {
      if (!client) throw new Problem('client_inactive');
      return client;
    });
    state.catch(() => states.delete(key));
    states.set(key, state);
    return state;
  };

  return {
    /** Authenticates a request. @throws Problem token_missing, token_invalid, token_expired, client_inactive */
    async authenticate(context: PublicContext): Promise<Authenticated> {
      const now = context.now();
      const verified = await verify(context, bearerToken(context.authorization), now);
      const { claims } = verified;
      Object.assign(context.audit, { tenantId: claims.tenant_id, clientId: claims.client_id });
      const state = await stateOf(context, claims);
      if (!state.isActive) throw new Problem('client_inactive');
      if (isRevoked(claims, state.tokensValidAfter)) {
        throw new Problem('token_invalid', 'The tokens of this API client were revoked; obtain a new one.');
      }
      const { authenticated } = verified;
      const { clockOffsetMs, requestsPerMinute } = state;
      const current =
        authenticated && verified.state === state
          ? authenticated
          : { caller: callerOf(claims, state), clockOffsetMs, requestsPerMinute };
      Object.assign(verified, { state, authenticated: current });
      return current;
    },
    /** Discards the cached clients of a tenant, whose clock may have moved: the next request reads them again. */
    forget(tenantId: string): void {
      for (const key of states.keys()) if (key.startsWith(`${tenantId} `)) states.delete(key);
    },
  };
}

function bearerToken(authorization: string | undefined): string {
  const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  if (token) return token;
  if (!/^bearer\b/i.test(authorization ?? '')) throw new Problem('token_missing');
  throw new Problem(
    'token_invalid',
    'Send exactly one access token after the word Bearer in the header Authorization.',
  );
}

/** Checks that the caller has the permissions of one alternative. @throws Problem insufficient_permission */
export function requirePermissions({ permissions }: Caller, alternatives: Alternatives): void {
  const held: ReadonlySet<string> = permissions satisfies ReadonlySet<Permission>;
  if (alternatives.some((required) => required.every((permission) => held.has(permission)))) return;
  const missing = alternatives.map((required) => required.filter((permission) => !held.has(permission)));
  const lacking = missing.map((permissions) => permissions.join(', ')).join(' or ');
  throw new Problem(
    'insufficient_permission',
    `The token lacks ${lacking}. Ask the operator for it, or request a token with a wider scope.`,
    { scope: missing.flat().join(' ') },
  );
}

const isOver = ({ exp }: TokenClaims, now: Date): boolean => now.getTime() >= exp * 1000 + LEEWAY_MS;
