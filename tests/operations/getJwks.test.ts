import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';

const harness = await openHarness();

const getJwks = () => call(harness, 'GET /.well-known/jwks.json');

describe('getJwks 200', () => {
  /** RFC 7517 and RFC 7518 §6.2.1: exactly the public members, so not "d". */
  const point = { x: expect.stringMatching(/^[\w-]{43}$/), y: expect.stringMatching(/^[\w-]{43}$/) };
  const publicKey = { kty: 'EC', crv: 'P-256', ...point, kid: expect.any(String), alg: 'ES256', use: 'sig' };
  it('publishes only the public half of the signing key, and requires no token', async () => {
    const { status, headers, body } = await getJwks();
    expect(body).toEqual({ keys: [publicKey] });
    expect(status).toBe(200);
    expect(headers.get('Content-Type')).toMatch(/^application\/json\b/);
  });
});
