import jwt from 'jsonwebtoken';
import type { SigningKeys } from './signingKeys.js';

/** The claims of both kinds of token (RFC 9068 names). Times are seconds since 1970. */
export interface TokenClaims {
  readonly clientId: string;
  readonly tenantId: string;
  readonly scope: string;
  /** The client secret that a refresh token was issued under; null in access tokens. */
  readonly secretId: string | null;
  readonly issuedAt: number;
  /** The client's latest revocation at the time of issue, in milliseconds since 1970; 0 = none. */
  readonly issuedAfter: number;
  readonly expiresAt: number;
}

type TokenKind = 'access' | 'refresh';

/** `expired` asks the holder to renew; `invalid` means that this service did not issue the token. */
type TokenFault = 'expired' | 'invalid';

export interface Tokens {
  /** Signs with the newest key (ES256). */
  sign(kind: TokenKind, claims: TokenClaims): Promise<string>;
  /** Checks signature, algorithm, type, issuer, audience and times (RFC 9068 §4); never throws for an invalid token. */
  verify(kind: TokenKind, token: string, now: Date): Promise<TokenClaims | TokenFault>;
}

const headerTypes = { access: 'at+jwt', refresh: 'rt+jwt' } as const;
/** Tolerated clock difference in seconds. */
const LEEWAY = 30;

const audienceOf = (kind: TokenKind, issuer: string): string => (kind === 'access' ? issuer : `${issuer}/oauth/token`);

/** @param issuer the service's public address; a function, because a free port is known only after listening */
export function openTokens(keys: SigningKeys, issuer: () => string, newId: () => string): Tokens {
  return {
    async sign(kind, claims) {
      const [key] = await keys.current();
      return jwt.sign(payloadOf(kind, claims, issuer(), newId()), key.privateKey, {
        algorithm: 'ES256',
        keyid: key.kid,
        header: { alg: 'ES256', typ: headerTypes[kind] },
      });
    },
    async verify(kind, token, now) {
      const header = headerOf(token);
      // Compare exactly: this service is the only issuer, and foreign headers may hold other values than text.
      if (header?.typ !== headerTypes[kind]) return 'invalid';
      const key = (await keys.current()).find(({ kid }) => kid === header.kid);
      if (!key) return 'invalid';
      const expected = { issuer: issuer(), audience: audienceOf(kind, issuer()) };
      const clock = { clockTimestamp: Math.floor(now.getTime() / 1000), clockTolerance: LEEWAY };
      try {
        const payload = jwt.verify(token, key.publicKey, { algorithms: ['ES256'], ...expected, ...clock });
        return typeof payload === 'string' ? 'invalid' : (claimsOf(payload) ?? 'invalid');
      } catch (error) {
        return error instanceof jwt.TokenExpiredError ? 'expired' : 'invalid';
      }
    },
  };
}

function payloadOf(kind: TokenKind, claims: TokenClaims, issuer: string, jti: string): object {
  return {
    iss: issuer,
    aud: audienceOf(kind, issuer),
    sub: claims.clientId,
    client_id: claims.clientId,
    tenant_id: claims.tenantId,
    scope: claims.scope,
    ...(claims.secretId === null ? {} : { secret_id: claims.secretId }),
    ...(claims.issuedAfter === 0 ? {} : { issued_after: claims.issuedAfter }),
    iat: claims.issuedAt,
    exp: claims.expiresAt,
    jti,
  };
}

function headerOf(token: string): jwt.JwtHeader | undefined {
  try {
    return jwt.decode(token, { complete: true })?.header;
  } catch {
    return undefined; // jsonwebtoken throws for a payload that is not JSON
  }
}

function claimsOf(payload: jwt.JwtPayload): TokenClaims | undefined {
  const { client_id: clientId, tenant_id: tenantId, scope, secret_id: secretId, iat, exp } = payload;
  const { issued_after: issuedAfter } = payload;
  if (typeof clientId !== 'string' || typeof tenantId !== 'string' || typeof scope !== 'string') return undefined;
  if (iat === undefined || exp === undefined) return undefined;
  return {
    clientId,
    tenantId,
    scope,
    secretId: typeof secretId === 'string' ? secretId : null,
    issuedAt: iat,
    issuedAfter: typeof issuedAfter === 'number' ? issuedAfter : 0,
    expiresAt: exp,
  };
}
