import jwt from 'jsonwebtoken';
import type { SigningKeys } from './signingKeys.js';

/** The claims of access and refresh tokens: of RFC 9068, and our own. `iat` and `exp` are seconds since 1970. */
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

/** Why a token is rejected. `expired` asks the holder to renew it; `invalid` is any other reason. */
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
  return {
    async sign(kind, claims) {
      const [{ kid: keyid, privateKey }] = await keys.current();
      const own = { iss: issuer(), aud: audienceOf(kind, issuer()), sub: claims.client_id, jti: newId() };
      const header = { alg: 'ES256', typ: headerTypes[kind] };
      return jwt.sign({ ...own, ...claims }, privateKey, { algorithm: 'ES256', keyid, header });
    },
    async verify(kind, token, now) {
      const current = await keys.current();
      const expected = { issuer: issuer(), audience: audienceOf(kind, issuer()) };
      const clock = { clockTimestamp: secondsOf(now), clockTolerance: LEEWAY };
      try {
        const header = jwt.decode(token, { complete: true })?.header;
        const key = current.find(({ kid }) => kid === header?.kid);
        // Compare exactly: this service is the only issuer, and `typ` of foreign tokens may be of any type.
        if (!key || header?.typ !== headerTypes[kind]) return 'invalid';
        const payload = jwt.verify(token, key.publicKey, { algorithms: ['ES256'], ...expected, ...clock });
        return isClaims(payload) ? payload : 'invalid';
      } catch (error) {
        return error instanceof jwt.TokenExpiredError ? 'expired' : 'invalid';
      }
    },
  };
}

const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000);

/** Narrows the type only: a valid signature proves that `sign` wrote these claims. */
function isClaims(payload: unknown): payload is TokenClaims {
  const { client_id, tenant_id, scope, iat, exp } = Object(payload) as Readonly<Record<string, unknown>>;
  const texts = [client_id, tenant_id, scope].every((claim) => typeof claim === 'string');
  return texts && typeof iat === 'number' && typeof exp === 'number';
}
