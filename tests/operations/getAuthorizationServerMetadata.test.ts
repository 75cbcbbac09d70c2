import { newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { asForm, basicAuth, loginBody } from '../support/tokens.js';

const harness = await openHarness();

const METADATA = 'GET /.well-known/oauth-authorization-server';

describe('getAuthorizationServerMetadata 200', () => {
  it('names addresses and authentication methods that work', async () => {
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

  it('ignores the headers Forwarded and X-Forwarded-Host', async () => {
    const headers = { 'X-Forwarded-Host': 'evil.example.com', Forwarded: 'host=evil.example.com;proto=https' };
    const { body } = await call(harness, METADATA, { headers });
    expect(JSON.stringify(body)).not.toContain('evil');
  });
});
