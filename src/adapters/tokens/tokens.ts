import jwt from 'jsonwebtoken';
import type { SigningKeys } from './signingKeys.js';

/** The claims of both kinds of token, named as in RFC 9068. Times are seconds since 1970. */
export interface TokenClaims {
  readonly client_id: string;
  readonly tenant_id: string;
  readonly scope: string;
  /** The cell that issued it (D-324). */
  readonly cell?: string;
  /** The client secret that a refresh token was issued under. */
  readonly secret_id?: string;
  readonly iat: number;
  /** The client's latest revocation at the time of issue, in milliseconds since 1970. */
  readonly issued_after?: number;
  readonly exp: number;
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
      const own = { iss: issuer(), aud: audienceOf(kind, issuer()), sub: claims.client_id, jti: newId() };
      const header = { alg: 'ES256', typ: headerTypes[kind] } as const;
      return jwt.sign({ ...own, ...claims }, key.privateKey, { algorithm: 'ES256', keyid: key.kid, header });
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
        return isClaims(payload) ? payload : 'invalid';
      } catch (error) {
        return error instanceof jwt.TokenExpiredError ? 'expired' : 'invalid';
      }
    },
  };
}

function headerOf(token: string): jwt.JwtHeader | undefined {
  try {
    return jwt.decode(token, { complete: true })?.header;
  } catch {
    return undefined; // jsonwebtoken throws for a payload that is not JSON
  }
}

/** The signature shows that `sign` made the token, perhaps in an earlier build. */
function isClaims(payload: unknown): payload is TokenClaims {
  const { client_id, tenant_id, scope, iat, exp } = Object(payload) as Readonly<Record<string, unknown>>;
  const texts = [client_id, tenant_id, scope].every((claim) => typeof claim === 'string');
  return texts && typeof iat === 'number' && typeof exp === 'number';
}
