import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deactivateApiClient } from '../../src/domain/apiClients.js';
import { rotateSecret } from '../../src/domain/apiClientSecrets.js';
import { permissions } from '../../src/domain/permissions.js';
import { newClient, newPartner, type Credentials, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { expectProblem, withoutDatabase, withoutTable } from '../support/refusals.js';
import { asForm, basicAuth, isSignedBy, login, loginBody, readToken } from '../support/tokens.js';

const LOGIN = { grant_type: 'client_credentials' };
/** RFC 6749 §5.2: no other character may be in an error_description. */
const DESCRIPTION = /^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/;
const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);

let harness: Harness;
let partner: Partner;
/** May call GET /clinics and GET /clients. */
let reader: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  reader = await newClient(harness, partner.tenantId, ['admin:clinic', 'read:client']);
});
afterAll(() => harness.close());

const post = (options: CallOptions): Promise<Answer> => call(harness, 'POST /oauth/token', options);

/** RFC 6749 §5.2; the challenge only for a client that authenticated by HTTP Basic. */
function expectFailure(answer: Answer, status: 400 | 401, error: string, basic = false): void {
  expect(answer.body).toEqual({ error, error_description: expect.stringMatching(DESCRIPTION) });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('Content-Type')).toMatch(/^application\/json\b/);
  expect(answer.headers.get('Cache-Control')).toBe('no-store');
  expect(answer.headers.get('WWW-Authenticate')).toBe(basic ? 'Basic realm="clinical-encounter"' : null);
}

describe('200', () => {
  it('answers with the fields of the token response, never to be cached', async () => {
    const answer = await login(harness, partner);
    expect(answer.body).toEqual({
      access_token: expect.any(String), token_type: 'Bearer', expires_in: 25_200,
      refresh_token: expect.any(String), refresh_token_expires_in: 2_592_000,
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Content-Type')).toMatch(/^application\/json\b/);
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    expect(answer.headers.has('WWW-Authenticate')).toBe(false);
  });

  it('issues an access token with the header and claims of RFC 9068, signed by a published key', async () => {
    const { access_token: token } = (await login(harness, partner)).body;
    const [key] = (await call(harness, 'GET /.well-known/jwks.json')).body.keys;
    const { header, payload } = readToken(token);
    expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: key.kid });
    const now = seconds(harness.clock.now);
    expect(payload).toEqual({
      iss: harness.baseUrl, aud: harness.baseUrl, sub: partner.clientId, client_id: partner.clientId,
      tenant_id: partner.tenantId, scope: permissions.join(' '), iat: now, exp: now + 25_200,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(isSignedBy(token, key)).toBe(true);
  });

  it('issues a refresh token of another type and audience, bound to the secret, that lives 30 days', async () => {
    const { refresh_token: token } = (await login(harness, partner)).body;
    const { header, payload } = readToken(token);
    expect(header).toMatchObject({ alg: 'ES256', typ: 'rt+jwt' });
    const [secret] = await harness.domain.db.apiClientSecret.findMany({
      where: { tenantId: partner.tenantId, apiClient: { clientId: partner.clientId } },
    });
    const now = seconds(harness.clock.now);
    expect(payload).toMatchObject({
      iss: harness.baseUrl, aud: `${harness.baseUrl}/oauth/token`, client_id: partner.clientId,
      tenant_id: partner.tenantId, secret_id: secret?.id, iat: now, exp: now + 2_592_000,
    });
  });

  it('gives every token an id of its own', async () => {
    const answers = await Promise.all([login(harness, partner), login(harness, partner)]);
    const tokens = answers.flatMap(({ body }) => [body.access_token, body.refresh_token]);
    expect(new Set(tokens.map((token) => readToken(token).payload['jti'])).size).toBe(4);
  });

  it('states the lifetimes that are configured', async () => {
    const other = await startHarness({ environment: { ACCESS_TOKEN_TTL: '60', REFRESH_TOKEN_TTL: '120' } });
    try {
      const { body } = await login(other, await newPartner(other));
      expect(body).toMatchObject({ expires_in: 60, refresh_token_expires_in: 120 });
      const [access, refreshing] = [readToken(body.access_token).payload, readToken(body.refresh_token).payload];
      const now = seconds(other.clock.now);
      expect([access['exp'], refreshing['exp']]).toEqual([now + 60, now + 120]);
    } finally {
      await other.close();
    }
  });

  const encoded = (text: string): string => text.replace(/[_-]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  it.each<[string, (client: Credentials) => CallOptions]>([
    ['JSON', (client) => ({ json: loginBody(client) })],
    ['JSON with a charset', (client) => ({
      raw: JSON.stringify(loginBody(client)), headers: { 'Content-Type': 'application/json; charset=UTF-8' },
    })],
    ['a form', (client) => asForm(loginBody(client))],
    ['HTTP Basic and a form', (client) => ({ ...asForm(LOGIN), ...withAuth(basicAuth(client), FORM) })],
    ['HTTP Basic and JSON', (client) => ({ json: LOGIN, ...withAuth(basicAuth(client)) })],
    ['HTTP Basic in lower case', (client) => ({ json: LOGIN, ...withAuth(basicAuth(client).replace('Basic', 'basic')) })],
    ['HTTP Basic with form-encoded halves (RFC 6749 §2.3.1)', ({ clientId, clientSecret }) => ({
      json: LOGIN,
      ...withAuth(basicAuth({ clientId: encoded(clientId), clientSecret: encoded(clientSecret) })),
    })],
    ['HTTP Basic and the same in the body', (client) => ({ json: loginBody(client), ...withAuth(basicAuth(client)) })],
    ['HTTP Basic and the same id in the body', (client) => ({
      json: { ...LOGIN, client_id: client.clientId }, ...withAuth(basicAuth(client)),
    })],
    ['HTTP Basic and a form with fields without a value, which count as omitted (RFC 6749 §3.2)', (client) => ({
      ...asForm({ ...LOGIN, client_id: '', client_secret: '', scope: '', refresh_token: '' }),
      ...withAuth(basicAuth(client), FORM),
    })],
    ['a Bearer header, which is ignored', (client) => ({ json: loginBody(client), token: 'not.a.token' })],
    ['a Digest header, which is ignored', (client) => ({ json: loginBody(client), ...withAuth('Digest username="x"') })],
    ['unknown members, which are ignored', (client) => ({
      json: loginBody(client, { audience: 'https://api.example.com', resource: ['x', null], constructor: { prototype: {} } }),
    })],
    ['an unknown form field, which is ignored', (client) => asForm({ ...loginBody(client), audience: 'x' })],
  ])('takes credentials by %s', async (_name, request) => {
    const answer = await post(request(partner));
    expect(answer.status).toBe(200);
    const { status } = await call(harness, 'GET /clinics', { token: answer.body.access_token });
    expect(status).toBe(200);
  });

  it('narrows the permissions to the scope that is asked for, and says so', async () => {
    const { body } = await login(harness, partner, { scope: 'read:client  admin:clinic read:client' });
    expect(body.scope).toBe('read:client admin:clinic');
    expect(readToken(body.access_token).payload['scope']).toBe('read:client admin:clinic');
    const token = body.access_token;
    expect((await call(harness, 'GET /clients?email=a@example.com', { token })).status).toBe(200);
    expectProblem(await call(harness, 'GET /tenants/products', { token }), 403, 'insufficient_permission');
  });

  it('never logs a secret or a token', async () => {
    const { body } = await login(harness, partner);
    await post({ json: LOGIN, ...withAuth(basicAuth({ ...partner, clientSecret: `${partner.clientSecret}x` })) });
    const log = JSON.stringify(harness.logged);
    expect(log).toContain('issueToken');
    for (const secret of [partner.clientSecret, basicAuth(partner).slice(6, -4), body.access_token, body.refresh_token]) {
      expect(log).not.toContain(secret);
    }
  });
});

const FORM = 'application/x-www-form-urlencoded';
const withAuth = (authorization: string, contentType = 'application/json'): Pick<CallOptions, 'headers'> => ({
  headers: { Authorization: authorization, 'Content-Type': contentType },
});
const raw = (text: string | Uint8Array<ArrayBuffer>, type = 'application/json'): CallOptions =>
  ({ raw: text, headers: { 'Content-Type': type } });

describe('400', () => {
  const jsonOf = (client: Credentials): string => JSON.stringify(loginBody(client));
  const without = (client: Credentials, name: string) => ({ json: { ...loginBody(client), [name]: undefined } });
  it.each<[string, string, (client: Credentials) => CallOptions]>([
    ['no body', 'invalid_request', () => ({})],
    ['an empty object', 'invalid_request', () => ({ json: {} })],
    ['an empty form', 'invalid_request', () => asForm({})],
    ['no grant_type', 'invalid_request', (client) => without(client, 'grant_type')],
    ['a grant_type of null', 'invalid_request', (client) => ({ json: loginBody(client, { grant_type: null }) })],
    ['a form with a grant_type without a value', 'invalid_request', (client) => asForm({ ...loginBody(client), grant_type: '' })],
    ['the grant of another flow', 'unsupported_grant_type', (client) => ({ json: loginBody(client, { grant_type: 'password' }) })],
    ['a grant_type in capitals', 'unsupported_grant_type', (client) => asForm({ ...loginBody(client), grant_type: 'REFRESH_TOKEN' })],
    ['no client_id', 'invalid_request', (client) => without(client, 'client_id')],
    ['no client_secret', 'invalid_request', (client) => without(client, 'client_secret')],
    ['an empty client_secret', 'invalid_request', (client) => ({ json: loginBody({ ...client, clientSecret: '' }) })],
    ['a client_id that is a list', 'invalid_request', (client) => ({ json: loginBody(client, { client_id: [client.clientId] }) })],
    ['a client_id that is a number', 'invalid_request', (client) => ({ json: loginBody(client, { client_id: 5 }) })],
    ['a client_secret that is an object', 'invalid_request', (client) => ({ json: loginBody(client, { client_secret: {} }) })],
    ['a client_id that is longer than any', 'invalid_request', (client) => ({ json: loginBody(client, { client_id: 'c'.repeat(256) }) })],
    ['U+0000', 'invalid_request', (client) => ({ json: loginBody(client, { client_secret: 'cess\0' }) })],
    ['half of a surrogate pair', 'invalid_request', () => raw('{"grant_type":"\\ud800"}')],
    ['malformed JSON', 'invalid_request', (client) => raw(jsonOf(client).slice(0, -1))],
    ['bytes that are not UTF-8', 'invalid_request', () => raw(Uint8Array.from([0x7b, 0xff, 0x7d]))],
    ['a list', 'invalid_request', (client) => raw(`[${jsonOf(client)}]`)],
    ['JSON in a JSON string', 'invalid_request', (client) => raw(JSON.stringify(jsonOf(client)))],
    ['another media type', 'invalid_request', (client) => raw(jsonOf(client), 'text/plain')],
    ['a form parameter twice', 'invalid_request', (client) => asForm([...Object.entries(loginBody(client)), ['client_id', client.clientId]])],
    ['an unknown form parameter twice', 'invalid_request', (client) => asForm([...Object.entries(loginBody(client)), ['a', '1'], ['a', '2']])],
    ['refresh_token without one', 'invalid_request', (client) => ({ json: loginBody(client, { grant_type: 'refresh_token' }) })],
    ['Basic and another client_id', 'invalid_request', (client) => ({ json: { ...LOGIN, client_id: 'ces_x' }, ...withAuth(basicAuth(client)) })],
    ['Basic and another client_secret', 'invalid_request', (client) => ({
      json: { ...loginBody(client), client_secret: `${client.clientSecret}x` }, ...withAuth(basicAuth(client)),
    })],
    ['an unknown scope', 'invalid_scope', (client) => ({ json: loginBody(client, { scope: 'admin:clinic everything' }) })],
    ['a scope that the client lacks', 'invalid_scope', (client) => ({ json: loginBody(client, { scope: 'read:product' }) })],
    ['a wildcard', 'invalid_scope', (client) => asForm({ ...loginBody(client), scope: '*' })],
    ['a part of a permission', 'invalid_scope', (client) => ({ json: loginBody(client, { scope: 'admin' }) })],
    ['a permission in capitals', 'invalid_scope', (client) => ({ json: loginBody(client, { scope: 'ADMIN:CLINIC' }) })],
    ['an empty scope', 'invalid_scope', (client) => ({ json: loginBody(client, { scope: '' }) })],
  ])('refuses %s as %s', async (_name, error, request) => {
    expectFailure(await post(request(reader)), 400, error);
  });

  it('takes no credentials from the URL, where they would be logged', async () => {
    const query = new URLSearchParams(loginBody(partner)).toString();
    expectFailure(await call(harness, `POST /oauth/token?${query}`, { json: LOGIN }), 400, 'invalid_request');
  });

  it('keeps the OAuth shape for a caller who prefers problem details', async () => {
    const answer = await post({ json: {}, headers: { Accept: 'application/problem+json' } });
    expectFailure(answer, 400, 'invalid_request');
  });

  it('never repeats what was sent', async () => {
    const answer = await post({ json: loginBody({ clientId: 'Jane Miller', clientSecret: 'Jane Miller' }, { scope: 'Jane Miller' }) });
    expect(answer.text).not.toContain('Jane');
  });
});

describe('401', () => {
  const unknown: Credentials = { clientId: `ces_${'a'.repeat(20)}`, clientSecret: `cess_live_${'A'.repeat(43)}` };
  const cases: [string, () => Promise<Credentials>][] = [
    ['an unknown client', async () => unknown],
    ['an id that we never issue', async () => ({ ...unknown, clientId: 'Robert\'); DROP TABLE api_client;--' })],
    ['a wrong secret', async () => ({ ...partner, clientSecret: unknown.clientSecret })],
    ['the right secret with one more character', async () => ({ ...partner, clientSecret: `${partner.clientSecret}a` })],
    ['the secret of another client', async () => ({ ...partner, clientSecret: reader.clientSecret })],
    ['an id in capitals', async () => ({ ...partner, clientId: partner.clientId.toUpperCase() })],
    ['a deactivated client', async () => {
      const client = await newClient(harness, partner.tenantId);
      await deactivateApiClient(harness.domain, client.clientId);
      return client;
    }],
    ['a client of a deactivated tenant', async () => {
      const client = await newPartner(harness);
      await harness.domain.db.tenant.update({ where: { id: client.tenantId }, data: { isActive: false } });
      return client;
    }],
    ['an expired secret', async () => {
      const client = await newClient(harness, partner.tenantId);
      await rotateSecret(harness.domain, client.clientId, 3_600);
      harness.clock.advance(3_600);
      return client;
    }],
  ];
  it.each(cases)('refuses %s as invalid_client, with a challenge only for HTTP Basic', async (_name, credentials) => {
    const given = await credentials();
    const inBody = await login(harness, given);
    expectFailure(inBody, 401, 'invalid_client');
    const byBasic = await post({ json: LOGIN, ...withAuth(basicAuth({ ...given, clientId: encodeURIComponent(given.clientId) })) });
    expectFailure(byBasic, 401, 'invalid_client', true);
    expect(byBasic.text).toBe(inBody.text);
  });

  it('never tells a wrong secret from an unknown or a deactivated client', async () => {
    const texts = [];
    for (const [, credentials] of cases) texts.push((await login(harness, await credentials())).text);
    expect(new Set(texts).size).toBe(1);
  });

  it.each([
    ['nothing', 'Basic'],
    ['no base64', 'Basic ***'],
    ['no colon', `Basic ${Buffer.from('ces_x').toString('base64')}`],
    ['broken percent-encoding', `Basic ${Buffer.from('ces_x:100%').toString('base64')}`],
  ])('refuses HTTP Basic with %s, whatever the body says', async (_name, authorization) => {
    expectFailure(await post({ json: loginBody(partner), ...withAuth(authorization) }), 401, 'invalid_client', true);
  });
});

describe('413', () => {
  it('refuses a body over 256 KiB, whoever sends it', async () => {
    const json = loginBody(partner, { padding: 'x'.repeat(256 * 1024) });
    expectProblem(await post({ json }), 413, 'body_too_large');
  });
});

describe('500', () => {
  it('tells nothing about a failure of ours', async () => {
    const answer = await withoutTable(harness, 'api_client', () => login(harness, partner));
    expectProblem(answer, 500, 'internal_error');
    expect(answer.text).not.toMatch(/api_client|relation|prisma/i);
    expect((await login(harness, partner)).status).toBe(200);
  });
});

describe('503', () => {
  it('asks to come back while the database is down', async () => {
    const answer = await withoutDatabase(harness, () => login(harness, partner));
    expectProblem(answer, 503, 'dependency_unavailable');
    expect(answer.headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
  });
});
