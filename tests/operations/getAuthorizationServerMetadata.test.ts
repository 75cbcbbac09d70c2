import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const harness = await openHarness();

const METADATA = 'GET /.well-known/oauth-authorization-server';

describe('getAuthorizationServerMetadata 200', () => {
  it('ignores the headers Forwarded and X-Forwarded-Host', async () => {
    const headers = { 'X-Forwarded-Host': 'evil.example.com', Forwarded: 'host=evil.example.com;proto=https' };
    const { body } = await call(harness, METADATA, { headers });
    expect(JSON.stringify(body)).not.toContain('evil');
  });
});
