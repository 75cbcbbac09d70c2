import type { SigningKey } from '../adapters/tokens/signingKeys.js';
import type { Schemas } from '../contract.js';

/** Public keys only: a public KeyObject has no private members to export. */
export function jwksView(keys: readonly SigningKey[]): Schemas['JsonWebKeySet'] {
  return {
    keys: keys.map(({ kid, publicKey }) => {
      const { kty = '', crv = '', x = '', y = '' } = publicKey.export({ format: 'jwk' });
      return { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' };
    }),
  };
}

/** The authorization server's metadata, which clients use for discovery (RFC 8414 §2). */
export function metadataView(issuer: string, scopes: readonly string[]): Schemas['AuthorizationServerMetadata'] {
  return {
    issuer,
    token_endpoint: `${issuer}/oauth/token`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: [],
    grant_types_supported: ['client_credentials', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    scopes_supported: [...scopes],
    service_documentation: `${issuer}/docs`,
  };
}
