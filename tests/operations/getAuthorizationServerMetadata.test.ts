import { permissions } from '../../src/domain/access/permissions.js';
import { newPartner } from '../support/factories.js';
import { startHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { asForm, basicAuth, loginBody } from '../support/tokens.js';

const harness = await startHarness();
afterAll(() => harness.close());

const METADATA = 'GET /.well-known/oauth-authorization-server';

describe('200', () => {
  it('returns the metadata of RFC 8414 §2', async () => {
    const { status, headers, body } = await call(harness, METADATA);
    expect(body).toEqual({
      issuer: harness.baseUrl,
      token_endpoint: `${harness.baseUrl}/oauth/token`,
      jwks_uri: `${harness.baseUrl}/.well-known/jwks.json`,
      response_types_supported: [],
      grant_types_supported: ['client_credentials', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      scopes_supported: permissions,
      service_documentation: `${harness.baseUrl}/docs`,
    });
    expect(status).toBe(200);
    expect(headers.get('Content-Type')).toMatch(/^application\/json\b/);
  });

  it('names working addresses and authentication methods', async () => {
    const { body } = await call(harness, METADATA);
    const client = await newPartner(harness);
    const form = { grant_type: 'client_credentials' };
    for (const { raw = '', headers } of [
      asForm(loginBody(client)),
      { raw: asForm(form).raw, headers: { ...asForm(form).headers, Authorization: basicAuth(client) } },
    ]) {
      const response = await fetch(body.token_endpoint, { method: 'POST', body: raw, ...(headers ? { headers } : {}) });
      expect(response.status).toBe(200);
    }
    expect((await fetch(body.jwks_uri)).status).toBe(200);
  });

  it('ignores forwarded hosts of the request', async () => {
    const headers = { 'X-Forwarded-Host': 'evil.example.com', Forwarded: 'host=evil.example.com;proto=https' };
    const { body } = await call(harness, METADATA, { headers });
    expect(JSON.stringify(body)).not.toContain('evil');
  });
});

describe('400', () => {
  it('refuses an unknown query parameter', async () => {
    const answer = await call(harness, `${METADATA}?issuer=x`);
    expectProblem(answer, 400, 'validation_failed', [{ parameter: 'issuer' }]);
  });
});
