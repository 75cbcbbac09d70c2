import { LRUCache } from 'lru-cache';
import type { Caller, PublicContext } from '../context.js';
import type { TokenClaims } from '../adapters/tokens/tokens.js';
import { callerOf, findClientState, type ClientState } from '../domain/access/callerState.js';
import type { Permission } from '../contract.js';
import { isRevoked } from '../domain/access/issueTokens.js';
import { Problem } from '../problem.js';

/** Entries of each cache: one token serves thousands of calls. */
const CACHE_MAX = 10_000;
/** Cache lifetime; bounds how long a deactivated client or dropped key still works. */
const CACHE_TTL_MS = 30_000;
const LEEWAY_MS = 30_000;

/** The permissions of an operation: all of one alternative are needed. */
export type Alternatives = readonly (readonly string[])[];

export type Authenticate = (context: PublicContext, required: Alternatives) => Promise<Caller>;

/**
 * Bearer authentication (RFC 6750): the token first, then its permissions.
 * @throws Problem token_missing, token_invalid, token_expired, client_inactive, insufficient_permission
 */
export function bearerAuthentication(): Authenticate {
  const verified = ttlCache<TokenClaims>();
  const states = ttlCache<ClientState>();

  const verify = async (context: PublicContext, token: string): Promise<TokenClaims> => {
    const now = context.now();
    const known = verified.get(token, now);
    const claims = known ?? (await context.tokens.verify('access', token, now));
    if (claims === 'expired' || (typeof claims === 'object' && isOver(claims, now))) throw new Problem('token_expired');
    if (claims === 'invalid') throw new Problem('token_invalid');
    if (!known) verified.set(token, claims, now);
    return claims;
  };

  const stateOf = async (context: PublicContext, claims: TokenClaims): Promise<ClientState> => {
    const now = context.now();
    const key = `${claims.tenantId} ${claims.clientId}`;
    const known = states.get(key, now);
    if (known) return known;
    const state = await findClientState(context, claims);
    if (!state) throw new Problem('client_inactive');
    states.set(key, state, now);
    return state;
  };

  return async (context, required) => {
    const claims = await verify(context, bearerToken(context.authorization));
    const state = await stateOf(context, claims);
    if (!state.isActive) throw new Problem('client_inactive');
    if (isRevoked(claims, state.tokensValidAfter)) {
      throw new Problem('token_invalid', 'The tokens of this API client were revoked; obtain a new one.');
    }
    const caller = callerOf(claims, state);
    requirePermissions(caller, required);
    return caller;
  };
}

/** A bounded map whose entries count for {@link CACHE_TTL_MS}, by the service's own clock. */
function ttlCache<T extends object>() {
  const entries = new LRUCache<string, { value: T; since: number }>({ max: CACHE_MAX });
  return {
    get(key: string, now: Date): T | undefined {
      const entry = entries.get(key);
      return entry && Math.abs(now.getTime() - entry.since) < CACHE_TTL_MS ? entry.value : undefined;
    },
    set(key: string, value: T, now: Date): void {
      entries.set(key, { value, since: now.getTime() });
    },
  };
}

function bearerToken(authorization: string | undefined): string {
  const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  if (token) return token;
  throw new Problem(/^bearer\b/i.test(authorization ?? '') ? 'token_invalid' : 'token_missing');
}

function requirePermissions({ permissions }: Caller, alternatives: Alternatives): void {
  const held: ReadonlySet<string> = permissions satisfies ReadonlySet<Permission>;
  const missing = alternatives.map((required) => required.filter((permission) => !held.has(permission)));
  if (missing.some((permissions) => permissions.length === 0)) return;
  const wanted = missing.map((permissions) => permissions.join(', ')).join(' or ');
  throw new Problem('insufficient_permission', `The token lacks ${wanted}.`, { scope: missing.flat().join(' ') });
}

const isOver = ({ expiresAt }: TokenClaims, now: Date): boolean => now.getTime() >= expiresAt * 1000 + LEEWAY_MS;
