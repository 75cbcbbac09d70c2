import type { TokenClaims } from '../../adapters/tokens/tokens.js';
import type { PublicContext } from '../../context.js';
import type { Bodies, Schemas } from '../../contract.js';
import { OAuthProblem } from '../../problem.js';
import { authenticateClient, basicCredentials, isClientId, type AuthenticatedClient } from './clientAuthentication.js';

type Request = Bodies['TokenRequest'];

/** Issues an access and a refresh token. @throws OAuthProblem; Problem rate_limited */
export async function grantTokens(context: PublicContext, request: Request): Promise<Schemas['TokenResponse']> {
  const client = await authenticate(context, request);
  const granted =
    request.grant_type === 'client_credentials'
      ? client.permissions
      : await refreshedScope(context, client, request.refresh_token);
  return issue(context, client, narrow(granted, request.scope), request.scope !== undefined);
}

/**
 * Whether the client's tokens were revoked after this token was issued. Compares the time of the latest revocation with
 * the time that the token names, not with `iat`, because clocks differ (D-91).
 */
export function isRevoked({ issued_after = 0 }: TokenClaims, tokensValidAfter: Date | null): boolean {
  return issued_after < (tokensValidAfter?.getTime() ?? 0);
}

/** Checks the credentials. @throws OAuthProblem; Problem rate_limited */
async function authenticate(context: PublicContext, request: Request): Promise<AuthenticatedClient> {
  const { requestLimits, authorization = '' } = context;
  const basic = /^basic\b/i.test(authorization);
  const { clientId, clientSecret } = credentials(request, basic ? authorization : null);
  const tried = isClientId(clientId) ? clientId : undefined;
  // Count malformed ids, which callers can invent without limit, by address alone.
  const counted = tried ?? '';
  // Check limits before the credentials, so that a request over the limit costs less than one that is served.
  await requestLimits.check('token-failures', counted);
  await requestLimits.check('token', counted);
  const client = await authenticateClient(context, clientId, clientSecret);
  if (!client) {
    // Count unknown ids, too, by address alone: callers can invent them without limit.
    await requestLimits.count('token-failures', context.audit.tenantId === null ? '' : counted);
    throw new OAuthProblem(
      'invalid_client',
      'The client credentials are not valid. Check client_id and client_secret; if both are right, ask the operator.',
      basic,
      tried,
    );
  }
  // Count after authentication: others know the client's id, and could otherwise exhaust its limit.
  await requestLimits.count('token', clientId);
  return client;
}

/** Credentials from the body or HTTP Basic; both may be sent if they agree. Other schemes are ignored. */
function credentials(request: Request, basic: string | null): { clientId: string; clientSecret: string } {
  const { client_id: clientId, client_secret: clientSecret } = request;
  if (basic !== null) {
    const sent = basicCredentials(basic);
    if (!sent)
      throw new OAuthProblem(
        'invalid_client',
        'The Basic credentials are malformed. Send client_id:client_secret in Base64.',
        true,
      );
    const differs = (value: string | undefined, other: string): boolean => value !== undefined && value !== other;
    if (differs(clientId, sent.clientId) || differs(clientSecret, sent.clientSecret)) {
      throw new OAuthProblem(
        'invalid_request',
        'The Basic credentials differ from those in the body; send only one of them.',
      );
    }
    return sent;
  }
  if (clientId && clientSecret) return { clientId, clientSecret };
  throw new OAuthProblem(
    'invalid_request',
    `${clientId ? 'client_secret' : 'client_id'} is missing: send both in the body, or by HTTP Basic.`,
  );
}

/** The permissions that a refresh token still grants. */
async function refreshedScope(
  context: PublicContext,
  client: AuthenticatedClient,
  refreshToken: string | undefined,
): Promise<string[]> {
  if (!refreshToken)
    throw new OAuthProblem('invalid_request', 'refresh_token is missing: send that of an earlier response.');
  const claims = await context.tokens.verify('refresh', refreshToken, context.now());
  if (
    typeof claims === 'string' ||
    claims.client_id !== client.clientId ||
    claims.tenant_id !== client.tenantId ||
    !client.liveSecretIds.includes(claims.secret_id ?? '') ||
    isRevoked(claims, client.tokensValidAfter)
  ) {
    throw new OAuthProblem(
      'invalid_grant',
      'The refresh token is not valid. Obtain new tokens with grant_type=client_credentials.',
    );
  }
  return claims.scope.split(' ').filter((scope) => client.permissions.includes(scope));
}

/** The permissions that a request asks for, or all granted ones. @throws OAuthProblem for another or none */
function narrow(granted: readonly string[], scope: string | undefined): readonly string[] {
  if (scope === undefined) return granted;
  const asked = [...new Set(scope.split(' ').filter(Boolean))];
  if (asked.length === 0 || asked.some((name) => !granted.includes(name))) {
    throw new OAuthProblem(
      'invalid_scope',
      'scope is blank, or names a permission that is unknown or not granted. Omit scope to get every granted permission.',
    );
  }
  return asked;
}

async function issue(
  context: PublicContext,
  { clientId, tenantId, secretId, tokensValidAfter }: AuthenticatedClient,
  scopes: readonly string[],
  narrowed: boolean,
): Promise<Schemas['TokenResponse']> {
  const { accessTokenTtl, refreshTokenTtl } = context.config;
  const iat = Math.floor(context.now().getTime() / 1000);
  const scope = scopes.join(' ');
  const revocation = tokensValidAfter && { issued_after: tokensValidAfter.getTime() };
  const base = { client_id: clientId, tenant_id: tenantId, scope, iat, ...revocation };
  const [access, refresh] = await Promise.all([
    context.tokens.sign('access', { ...base, exp: iat + accessTokenTtl }),
    context.tokens.sign('refresh', { ...base, secret_id: secretId, exp: iat + refreshTokenTtl }),
  ]);
  return {
    access_token: access,
    token_type: 'Bearer',
    expires_in: accessTokenTtl,
    refresh_token: refresh,
    refresh_token_expires_in: refreshTokenTtl,
    ...(narrowed ? { scope } : {}),
  };
}
