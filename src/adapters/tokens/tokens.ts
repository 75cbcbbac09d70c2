import jwt from 'jsonwebtoken';
import type { SigningKeys } from './signingKeys.js';

/** The claims of access and refresh tokens, named as in RFC 9068. Times are seconds since 1970. */
export interface TokenClaims {
  readonly client_id: string;
  readonly tenant_id: string;
  readonly scope: string;
  /** The client secret under which a refresh token was issued. */
  readonly secret_id?: string;
  readonly iat: number;
  /** The time of the client's latest revocation when the token was issued, in milliseconds since 1970. */
  readonly issued_after?: number;
  readonly exp: number;
}

type TokenKind = 'access' | 'refresh';

/** Why a token is rejected. `expired` asks the holder to renew it; `invalid`: this service did not issue it. */
type TokenFault = 'expired' | 'invalid';

export interface Tokens {
  /** Signs with the newest key (ES256). */
  sign(kind: TokenKind, claims: TokenClaims): Promise<string>;
  /** Checks signature, algorithm, type, issuer, audience and times (RFC 9068 §4). Never throws for an invalid token. */
  verify(kind: TokenKind, token: string, now: Date): Promise<TokenClaims | TokenFault>;
}

const headerTypes = { access: 'at+jwt', refresh: 'rt+jwt' } as const;
/** Tolerated difference between clocks, in seconds. */
const LEEWAY = 30;

const audienceOf = (kind: TokenKind, issuer: string): string => (kind === 'access' ? issuer : `${issuer}/oauth/token`);

/** Creates and checks tokens. @param issuer the public address; a function, because the port may be known only later */
export function openTokens(keys: SigningKeys, issuer: () => string, newId: () => string): Tokens {
  const sign = async (typ: string, payload: object): Promise<string> => {
    const [{ kid: keyid, privateKey }] = await keys.current();
    return jwt.sign(payload, privateKey, { algorithm: 'ES256', keyid, header: { alg: 'ES256', typ } });
  };
  const verify = async (typ: string, token: string, now: Date, expected: jwt.VerifyOptions): Promise<unknown> => {
    const header = headerOf(token);
    // Compare exactly: this service is the only issuer, and `typ` of foreign tokens may be of any type.
    if (header?.typ !== typ) return 'invalid';
    const key = (await keys.current()).find(({ kid }) => kid === header.kid);
    if (!key) return 'invalid';
    const clock = { clockTimestamp: secondsOf(now), clockTolerance: LEEWAY };
    try {
      return jwt.verify(token, key.publicKey, { algorithms: ['ES256'], ...expected, ...clock });
    } catch (error) {
      return error instanceof jwt.TokenExpiredError ? 'expired' : 'invalid';
    }
  };
  return {
    sign(kind, claims) {
      const own = { iss: issuer(), aud: audienceOf(kind, issuer()), sub: claims.client_id, jti: newId() };
      return sign(headerTypes[kind], { ...own, ...claims });
    },
    async verify(kind, token, now) {
      const expected = { issuer: issuer(), audience: audienceOf(kind, issuer()) };
      const payload = await verify(headerTypes[kind], token, now, expected);
      if (payload === 'expired') return payload;
      return isClaims(payload) ? payload : 'invalid';
    },
  };
}

const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000);

function headerOf(token: string): jwt.JwtHeader | undefined {
  try {
    return jwt.decode(token, { complete: true })?.header;
  } catch {
    return undefined; // jsonwebtoken throws for a payload that is not JSON
  }
}

/** Narrows the type only: a valid signature proves that `sign` wrote these claims. */
function isClaims(payload: unknown): payload is TokenClaims {
  const { client_id, tenant_id, scope, iat, exp } = Object(payload) as Readonly<Record<string, unknown>>;
  const texts = [client_id, tenant_id, scope].every((claim) => typeof claim === 'string');
  return texts && typeof iat === 'number' && typeof exp === 'number';
}
