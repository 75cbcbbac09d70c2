import * as oauth from 'oauth4webapi';
import { rotateSigningKeys } from '../../src/adapters/tokens/signingKeys.js';
import { newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';

/** The library demands https unless told otherwise. */
const overHttp = { [oauth.allowInsecureRequests]: true };

const harness = await openHarness();
// The library checks tokens against the real time.
harness.clock.now = new Date();
const partner = await newPartner(harness);
const issuer = new URL(harness.baseUrl);

const listClinics = async (token: string): Promise<number> =>
  (await fetch(`${harness.baseUrl}/clinics`, { headers: { Authorization: `Bearer ${token}` } })).status;

describe('oauth4webapi', () => {
  const methods = [
    ['client_secret_basic', oauth.ClientSecretBasic],
    ['client_secret_post', oauth.ClientSecretPost],
  ] as const;

  async function discover(): Promise<oauth.AuthorizationServer> {
    const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...overHttp });
    return oauth.processDiscoveryResponse(issuer, response);
  }
  async function logIn(
    server: oauth.AuthorizationServer,
    parameters: Record<string, string> = {},
    method: (secret: string) => oauth.ClientAuth = oauth.ClientSecretBasic,
    secret = partner.clientSecret,
  ): Promise<oauth.TokenEndpointResponse> {
    const client = { client_id: partner.clientId };
    const response = await oauth.clientCredentialsGrantRequest(server, client, method(secret), parameters, overHttp);
    return oauth.processClientCredentialsResponse(server, client, response);
  }
  const validate = (server: oauth.AuthorizationServer, token: string) =>
    oauth.validateJwtAccessToken(
      server,
      new Request(`${harness.baseUrl}/clinics`, { headers: { Authorization: `Bearer ${token}` } }),
      harness.baseUrl,
      overHttp,
    );

  it.each(methods)('discovers by RFC 8414, logs in and renews by %s', async (_name, method) => {
    const server = await discover();
    expect(server).toMatchObject({ issuer: harness.baseUrl, token_endpoint: `${harness.baseUrl}/oauth/token` });
    const tokens = await logIn(server, {}, method);
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 25_200, refresh_token: expect.any(String) });
    expect(await listClinics(tokens.access_token)).toBe(200);

    const client = { client_id: partner.clientId };
    const auth = method(partner.clientSecret);
    const response = await oauth.refreshTokenGrantRequest(server, client, auth, tokens.refresh_token ?? '', overHttp);
    const renewed = await oauth.processRefreshTokenResponse(server, client, response);
    expect(renewed.access_token).not.toBe(tokens.access_token);
    expect(await listClinics(renewed.access_token)).toBe(200);
  });

  it('validates access tokens by the published keys (RFC 9068), before and after a rotation', async () => {
    const server = await discover();
    const before = (await logIn(server)).access_token;
    const { clientId, tenantId } = partner;
    const claims = { iss: harness.baseUrl, aud: harness.baseUrl, client_id: clientId, tenant_id: tenantId };
    expect(await validate(server, before)).toMatchObject(claims);

    const { domain, services } = harness;
    const options = { now: domain.now(), newId: domain.newId, retireAfter: 0, force: false };
    await rotateSigningKeys(services.config.signingKeysFile, options);
    const after = (await logIn(server)).access_token;
    // A new discovery has no cached keys.
    const fresh = await discover();
    for (const token of [before, after]) expect(await validate(fresh, token)).toMatchObject(claims);
  });

  it('rejects a refresh token as an access token', async () => {
    const server = await discover();
    const { refresh_token: token = '' } = await logIn(server);
    await expect(validate(server, token)).rejects.toThrow(oauth.OperationProcessingError);
  });

  it.each(methods)('reports wrong credentials by %s, as a challenge or as invalid_client', async (_name, method) => {
    const server = await discover();
    // The library reads a challenge first, if there is one.
    const expected =
      method === oauth.ClientSecretBasic
        ? { code: oauth.WWW_AUTHENTICATE_CHALLENGE, cause: [{ scheme: 'basic' }] }
        : { code: oauth.RESPONSE_BODY_ERROR, error: 'invalid_client', status: 401 };
    await expect(logIn(server, {}, method, 'wrong')).rejects.toMatchObject(expected);
  });
});
