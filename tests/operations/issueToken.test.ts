import { deactivateApiClient } from '../../src/domain/access/apiClients.js';
import { rotateSecret } from '../../src/domain/access/apiClientSecrets.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { everyCase } from '../support/everyCase.js';
import { newClient, newPartner, type Credentials } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { asForm, basicAuth, isSignedBy, login, loginBody, readToken } from '../support/tokens.js';

const LOGIN = { grant_type: 'client_credentials' };
/** The characters that RFC 6749 §5.2 allows in an error_description. */
const DESCRIPTION = /^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/;
const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);

const harness = await openHarness();
const partner = await newPartner(harness);
/** May call GET /clinics and GET /clients. */
const reader = await newClient(harness, partner.tenantId, ['admin:clinic', 'read:client']);

const post = (options: CallOptions): Promise<Answer> => call(harness, 'POST /oauth/token', options);

/** Expects an error of RFC 6749 §5.2, with a challenge only for a client that used HTTP Basic. */
function expectFailure(answer: Answer, status: 400 | 401, error: string, basic = false): void {
  expect(answer.body).toEqual({ error, error_description: expect.stringMatching(DESCRIPTION) });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('Content-Type')).toMatch(/^application\/json\b/);
  expect(answer.headers.get('Cache-Control')).toBe('no-store');
  expect(answer.headers.get('WWW-Authenticate')).toBe(basic ? 'Basic realm="clinical-encounter"' : null);
}

const FORM = 'application/x-www-form-urlencoded';
const withAuth = (authorization: string, contentType = 'application/json'): Pick<CallOptions, 'headers'> => ({
  headers: { Authorization: authorization, 'Content-Type': contentType },
});
const raw = (text: string | Uint8Array<ArrayBuffer>, type = 'application/json'): CallOptions => ({
  raw: text,
  headers: { 'Content-Type': type },
});

/** A case and the request that a client sends for it. */
type Request = [string, (client: Credentials) => CallOptions];
const nameOf = ([name]: [string, unknown]): string => name;

/** A login in JSON with these members. */
const changed =
  (more: Record<string, unknown>) =>
  (client: Credentials): CallOptions => ({ json: loginBody(client, more) });
/** A login by a form with these fields. */
const inForm =
  (more: Record<string, string>) =>
  (client: Credentials): CallOptions =>
    asForm({ ...loginBody(client), ...more });
const repeated =
  (...pairs: [string, string][]) =>
  (client: Credentials): CallOptions =>
    asForm([...Object.entries(loginBody(client)), ...pairs]);
const besideBasic =
  (more: Record<string, unknown>) =>
  (client: Credentials): CallOptions => ({ json: { ...LOGIN, ...more }, ...withAuth(basicAuth(client)) });

describe('issueToken 200', () => {
  it('returns the fields of a token response, with Cache-Control: no-store', async () => {
    const answer = await login(harness, partner);
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 25_200,
      refresh_token: expect.any(String),
      refresh_token_expires_in: 2_592_000,
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
      iss: harness.baseUrl,
      aud: harness.baseUrl,
      sub: partner.clientId,
      client_id: partner.clientId,
      tenant_id: partner.tenantId,
      scope: permissions.join(' '),
      iat: now,
      exp: now + 25_200,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(isSignedBy(token, key)).toBe(true);
  });

  it('issues every token with a different jti', async () => {
    const answers = await Promise.all([login(harness, partner), login(harness, partner)]);
    const tokens = answers.flatMap(({ body }) => [body.access_token, body.refresh_token]);
    expect(new Set(tokens.map((token) => readToken(token).payload['jti'])).size).toBe(4);
  });

  it('issues tokens with the configured lifetimes', async () => {
    const { config } = harness.services;
    Object.assign(harness.services, { config: { ...config, accessTokenTtl: 60, refreshTokenTtl: 120 } });
    const { body } = await login(harness, partner).finally(() => Object.assign(harness.services, { config }));
    expect(body).toMatchObject({ expires_in: 60, refresh_token_expires_in: 120 });
    const [access, refreshing] = [readToken(body.access_token).payload, readToken(body.refresh_token).payload];
    const now = seconds(harness.clock.now);
    expect([access['exp'], refreshing['exp']]).toEqual([now + 60, now + 120]);
  });

  const encoded = (text: string): string => text.replace(/[_-]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  const accepted: Request[] = [
    ['JSON', (client) => ({ json: loginBody(client) })],
    ['JSON with a charset', (client) => raw(JSON.stringify(loginBody(client)), 'application/json; charset=UTF-8')],
    ['a form', (client) => asForm(loginBody(client))],
    ['HTTP Basic and a form', (client) => ({ ...asForm(LOGIN), ...withAuth(basicAuth(client), FORM) })],
    ['HTTP Basic and JSON', besideBasic({})],
    ['HTTP Basic in lower case', (client) => ({ json: LOGIN, ...withAuth(basicAuth(client).replace('B', 'b')) })],
    [
      'HTTP Basic with form-encoded halves (RFC 6749 §2.3.1)',
      ({ clientId, clientSecret }) =>
        besideBasic({})({ clientId: encoded(clientId), clientSecret: encoded(clientSecret) }),
    ],
    ['HTTP Basic and equal credentials in the body', (client) => besideBasic(loginBody(client))(client)],
    ['HTTP Basic and an equal client_id in the body', (client) => besideBasic({ client_id: client.clientId })(client)],
    [
      'HTTP Basic and form fields without a value, which count as omitted (RFC 6749 §3.2)',
      (client) => ({
        ...asForm({ ...LOGIN, client_id: '', client_secret: '', scope: '', refresh_token: '' }),
        ...withAuth(basicAuth(client), FORM),
      }),
    ],
    ['a Bearer header, which is ignored', (client) => ({ json: loginBody(client), token: 'not.a.token' })],
    ['a Digest header, which is ignored', (client) => ({ json: loginBody(client), ...withAuth('Digest user="x"') })],
    ['unknown members, which are ignored', changed({ audience: 'x', resource: [null], constructor: {} })],
    ['an unknown form field, which is ignored', inForm({ audience: 'x' })],
  ];

  it('accepts credentials in every form that the contract names', () =>
    everyCase(accepted, nameOf, async ([, request]) => {
      const answer = await post(request(partner));
      expect(answer.status).toBe(200);
      const { status } = await call(harness, 'GET /clinics', { token: answer.body.access_token });
      expect(status).toBe(200);
    }));

  it('narrows the permissions to the requested scope, and returns that scope', async () => {
    const { body } = await login(harness, partner, { scope: 'read:client  admin:clinic read:client' });
    expect(body.scope).toBe('read:client admin:clinic');
    expect(readToken(body.access_token).payload['scope']).toBe('read:client admin:clinic');
    const token = body.access_token;
    expect((await call(harness, 'GET /clients?email=a@example.com', { token })).status).toBe(200);
    expectProblem(await call(harness, 'GET /tenants/products', { token }), 403, 'insufficient_permission');
  });
});

describe('issueToken 400', () => {
  const invalid: Request[] = [
    ['a missing body', () => ({})],
    ['an empty object', () => ({ json: {} })],
    ['an empty form', () => asForm({})],
    ['a missing grant_type', changed({ grant_type: undefined })],
    ['a form with a grant_type without a value', inForm({ grant_type: '' })],
    ['a missing client_id', changed({ client_id: undefined })],
    ['a missing client_secret', changed({ client_secret: undefined })],
    ['an empty client_secret', changed({ client_secret: '' })],
    ['a client_id of more than 255 characters', changed({ client_id: 'c'.repeat(256) })],
    ['a form parameter twice', repeated(['grant_type', 'client_credentials'])],
    ['an unknown form parameter twice', repeated(['a', '1'], ['a', '2'])],
    ['the grant refresh_token without a refresh_token', changed({ grant_type: 'refresh_token' })],
    ['HTTP Basic and another client_id', besideBasic({ client_id: 'ces_x' })],
    ['HTTP Basic and another client_secret', besideBasic({ client_secret: 'cess_x' })],
  ];

  it('answers invalid_request to a malformed token request', () =>
    everyCase(invalid, nameOf, async ([, request]) => {
      expectFailure(await post(request(reader)), 400, 'invalid_request');
    }));

  it('answers unsupported_grant_type to a grant_type that the contract does not have', () =>
    everyCase(['password', 'CLIENT_CREDENTIALS', ' '], String, async (grant) => {
      expectFailure(await post(inForm({ grant_type: grant })(reader)), 400, 'unsupported_grant_type');
    }));

  const beyond: Request[] = [
    ['an unknown scope beside a good one', changed({ scope: 'admin:clinic everything' })],
    ['a scope that the client lacks', changed({ scope: 'read:product' })],
    ['a wildcard', inForm({ scope: '*' })],
    ['a part of a permission', changed({ scope: 'admin' })],
    ['a permission in capitals', changed({ scope: 'ADMIN:CLINIC' })],
    ['an empty scope', changed({ scope: '' })],
  ];

  it('answers invalid_scope to an unknown or empty scope, and to one that the client lacks', () =>
    everyCase(beyond, nameOf, async ([, request]) => {
      expectFailure(await post(request(reader)), 400, 'invalid_scope');
    }));

  it('answers in the OAuth error shape even to a caller that accepts only problem details', async () => {
    const answer = await post({ json: {}, headers: { Accept: 'application/problem+json' } });
    expectFailure(answer, 400, 'invalid_request');
  });
});

describe('issueToken 401', () => {
  const unknown: Credentials = { clientId: `ces_${'a'.repeat(20)}`, clientSecret: `cess_live_${'A'.repeat(43)}` };
  const cases: [string, () => Promise<Credentials>][] = [
    ['an unknown client', async () => unknown],
    [
      'an id that the service never issues',
      async () => ({ ...unknown, clientId: "Robert'); DROP TABLE api_client;--" }),
    ],
    ['a wrong secret', async () => ({ ...partner, clientSecret: unknown.clientSecret })],
    ['the secret and one more character', async () => ({ ...partner, clientSecret: `${partner.clientSecret}a` })],
    ['the secret of another client', async () => ({ ...partner, clientSecret: reader.clientSecret })],
    ['an id in capitals', async () => ({ ...partner, clientId: partner.clientId.toUpperCase() })],
    [
      'a deactivated client',
      async () => {
        const client = await newClient(harness, partner.tenantId);
        await deactivateApiClient(harness.domain, client.clientId);
        return client;
      },
    ],
    [
      'a client of a deactivated tenant',
      async () => {
        const client = await newPartner(harness);
        await harness.domain.db.prisma.tenant.updateMany({ where: { id: client.tenantId }, data: { isActive: false } });
        return client;
      },
    ],
    [
      'an expired secret',
      async () => {
        const client = await newClient(harness, partner.tenantId);
        await rotateSecret(harness.domain, client.clientId, 3_600);
        harness.clock.advance(3_600);
        return client;
      },
    ],
  ];
  it('answers invalid_client to all wrong credentials alike, with a challenge only for HTTP Basic', async () => {
    const texts = new Set<string>();
    await everyCase(cases, nameOf, async ([, credentials]) => {
      const given = await credentials();
      const inBody = await login(harness, given);
      expectFailure(inBody, 401, 'invalid_client');
      const encodedId = encodeURIComponent(given.clientId);
      const byBasic = await post({ json: LOGIN, ...withAuth(basicAuth({ ...given, clientId: encodedId })) });
      expectFailure(byBasic, 401, 'invalid_client', true);
      texts.add(inBody.text).add(byBasic.text);
    });
    expect(texts.size).toBe(1);
  });

  it('refuses malformed HTTP Basic even beside valid credentials in the body', () => {
    const malformed: [string, string][] = [
      ['no credentials', 'Basic'],
      ['no base64', 'Basic ***'],
      ['no colon', `Basic ${Buffer.from('ces_x').toString('base64')}`],
      ['broken percent-encoding', `Basic ${Buffer.from('ces_x:100%').toString('base64')}`],
    ];
    return everyCase(malformed, nameOf, async ([, authorization]) => {
      const answer = await post({ json: loginBody(partner), ...withAuth(authorization) });
      expectFailure(answer, 401, 'invalid_client', true);
    });
  });
});
