import { LRUCache } from 'lru-cache';
import type { Caller, PublicContext } from '../context.js';
import type { TokenClaims } from '../adapters/tokens.js';
import { callerOf, findClientState, type ClientState } from '../domain/callers.js';
import type { ClientPermission } from '../domain/permissions.js';
import { isRevoked } from '../domain/tokenGrants.js';
import { Problem } from '../problem.js';

/** Tokens whose signature has been checked: one token serves thousands of calls. */
const MOST_TOKENS = 10_000;
/** A deactivated client is refused this soon: a token of seven hours needs a kill switch. */
const STATE_AGE_MS = 30_000;
const LEEWAY_MS = 30_000;

export type Authenticate = (context: PublicContext, required: readonly string[]) => Promise<Caller>;

/**
 * Bearer authentication (RFC 6750): the token first, then its permissions.
 * @throws Problem token_missing, token_invalid, token_expired, client_inactive, insufficient_permission
 */
export function bearerAuthentication(): Authenticate {
  const verified = new LRUCache<string, TokenClaims>({ max: MOST_TOKENS });
  const states = new LRUCache<string, { state: ClientState | null; readAt: number }>({ max: MOST_TOKENS });

  const verify = async (context: PublicContext, token: string): Promise<TokenClaims> => {
    const known = verified.get(token);
    const claims = known ?? (await context.tokens.verify('access', token, context.now()));
    if (claims === 'expired' || (typeof claims === 'object' && isOver(claims, context.now()))) {
      verified.delete(token);
      throw new Problem('token_expired');
    }
    if (claims === 'invalid') throw new Problem('token_invalid');
    verified.set(token, claims);
    return claims;
  };

  const stateOf = async (context: PublicContext, claims: TokenClaims): Promise<ClientState | null> => {
    const now = context.now().getTime();
    const known = states.get(claims.clientId);
    if (known && Math.abs(now - known.readAt) < STATE_AGE_MS) return known.state;
    const state = await findClientState(context, claims);
    states.set(claims.clientId, { state, readAt: now });
    return state;
  };

  return async (context, required) => {
    const claims = await verify(context, bearerToken(context.authorization));
    const state = await stateOf(context, claims);
    if (!state?.isActive) throw new Problem('client_inactive');
    if (isRevoked(claims, state.tokensValidAfter)) {
      throw new Problem('token_invalid', 'The tokens of this API client were revoked; obtain a new one.');
    }
    const caller = callerOf(claims, state);
    requirePermissions(caller, required);
    return caller;
  };
}

function bearerToken(authorization: string | undefined): string {
  const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  if (token) return token;
  throw new Problem(/^bearer\b/i.test(authorization ?? '') ? 'token_invalid' : 'token_missing');
}

function requirePermissions({ permissions }: Caller, required: readonly string[]): void {
  const held: ReadonlySet<string> = permissions satisfies ReadonlySet<ClientPermission>;
  const missing = required.filter((permission) => !held.has(permission));
  if (missing.length > 0) {
    throw new Problem('insufficient_permission', `The token lacks ${missing.join(', ')}.`, { scope: missing.join(' ') });
  }
}

const isOver = ({ expiresAt }: TokenClaims, now: Date): boolean => now.getTime() >= expiresAt * 1000 + LEEWAY_MS;
