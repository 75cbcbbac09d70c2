import { changeApiClient, createApiClient } from '../../src/domain/access/apiClients.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { callerAddress } from '../../src/http/listener/callerAddress.js';
import { requiredHeaders, securedOperations, targetOf } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { newClient, newPartner, newToken, type Credentials } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { withLimits } from '../support/limits.js';
import { expectProblem } from '../support/refusals.js';
import { loginBody } from '../support/tokens.js';

// Limits use the real clock, and most last a minute: quota that a test uses stays used.

const settings = { REQUESTS: 4, BURST: 1000, UPLOADS: 1, BULK: 1, TOKENS: 3, TOKEN_FAILURES: 2 };
const variables = Object.entries(settings).map(([name, limit]) => [`RATE_LIMIT_${name}`, String(limit)]);
const harness = await openHarness({
  environment: { RATE_LIMIT: 'on', TRUSTED_PROXIES: '1', ...Object.fromEntries(variables) },
});
const partner = await newPartner(harness);

const get = (path: string, token?: string): Promise<Answer> => call(harness, `GET ${path}`, { token });
const policyOf = ({ headers }: Answer): string | null => headers.get('RateLimit-Policy');
const leftOf = ({ headers }: Answer): string | undefined => headers.get('RateLimit')?.replace(/;t=\d+$/, '');

/** Retry-After is within the minute of the limit, and RateLimit repeats it. */
function expectWait({ headers }: Answer): void {
  const seconds = Number(headers.get('Retry-After'));
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(headers.get('RateLimit')).toMatch(new RegExp(`;r=0;t=${seconds}$`));
}

describe('the requests of a client', () => {
  it('count against its limit whether they succeed or fail, return the remaining quota, and get 429 above the limit', async () => {
    const { token } = await newClient(harness, partner.tenantId, ['admin:clinic']);
    const answers: Answer[] = [];
    for (const path of ['/clinics', '/clinics?nonsense=1', '/tenants/products', '/clinics?limit=1'])
      answers.push(await get(path, token));
    expect(answers.map((answer) => [answer.status, leftOf(answer)])).toEqual([
      [200, '"default";r=3'],
      [400, '"default";r=2'],
      [403, '"default";r=1'],
      [200, '"default";r=0'],
    ]);
    expect(answers.map(policyOf)).toEqual(Array(4).fill('"default";q=4;w=60'));
    const refused = await get('/clinics?nonsense=1', token);
    expectProblem(refused, 429, 'rate_limited');
    expectWait(refused);
    const other = await newClient(harness, partner.tenantId);
    expect(await get('/clinics', other.token)).toMatchObject({ status: 200 });
  });

  it('count against the x-rate-limit of the operation before their permission is checked', () =>
    everyCase(
      securedOperations,
      ({ operationId }) => operationId,
      async (operation) => {
        const limit = (operation as { 'x-rate-limit'?: string })['x-rate-limit'] ?? 'default';
        const { clientId, clientSecret } = await createApiClient(harness.domain, {
          tenant: partner.tenantId,
          permissions: permissions.filter((name) => !operation.scopes.includes(name)),
          requestsPerMinute: 1,
        });
        const token = await newToken(harness, { clientId, clientSecret });
        const send = () => call(harness, targetOf(operation), { token, headers: requiredHeaders(operation) });
        const first = await send();
        expectProblem(first, 403, 'insufficient_permission');
        expect([policyOf(first), leftOf(first)]).toEqual([`"${limit}";q=1;w=60`, `"${limit}";r=0`]);
        expectProblem(await send(), 429, 'rate_limited');
      },
    ));

  it('get no RateLimit headers without a valid token', async () => {
    for (const token of [undefined, 'garbage']) {
      const { status, headers } = await get('/clinics', token);
      expect([status, headers.get('RateLimit'), headers.get('RateLimit-Policy')]).toEqual([401, null, null]);
    }
    expect(policyOf(await get('/healthz'))).toBeNull();
  });

  it('are limited by the limit that is set for the client, and by the default within 30 seconds of its removal', async () => {
    const { token, clientId } = await newClient(harness, partner.tenantId);
    await changeApiClient(harness.domain, clientId, { requestsPerMinute: 2 });
    expect(policyOf(await get('/clinics', token))).toBe('"default";q=2;w=60');
    expect((await get('/clinics', token)).status).toBe(200);
    expect((await get('/clinics', token)).status).toBe(429);
    await changeApiClient(harness.domain, clientId, { requestsPerMinute: null });
    harness.clock.advance(30);
    expect(policyOf(await get('/clinics', token))).toBe('"default";q=4;w=60');
  });

  it('get 429 when they exceed the burst limit within a second', async () => {
    const { token, clientId } = await newClient(harness, partner.tenantId);
    await changeApiClient(harness.domain, clientId, { requestsPerMinute: 1_000_000 });
    const answers = await withLimits(harness, { default: 1_000_000, burst: 2 }, () =>
      Promise.all(Array.from({ length: 30 }, () => get('/clinics', token))),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) {
      expect(policyOf(answer)).toBe('"burst";q=2;w=1');
      expect(answer.headers.get('Retry-After')).toBe('1');
    }
  });
});

describe('the token endpoint', () => {
  const login = (credentials: Credentials, address = '192.0.2.1'): Promise<Answer> =>
    call(harness, 'POST /oauth/token', {
      json: loginBody(credentials),
      headers: { 'X-Forwarded-For': `10.0.0.1, ${address}` },
    });
  const wrong = { clientSecret: 'wrong' };

  function expectTooMany(answer: Answer, policy: string): void {
    expect(answer.status).toBe(429);
    expect(answer.body).toEqual({ error: 'temporarily_unavailable', error_description: expect.any(String) });
    expect(policyOf(answer)).toBe(policy);
    expectWait(answer);
  }

  const newLogin = () => createApiClient(harness.domain, { tenant: partner.tenantId, preset: 'partner' });

  it('limits the token requests of each client', async () => {
    const client = await newLogin();
    const answers = [await login(client), await login(client), await login(client)];
    expect(answers.map((answer) => [answer.status, leftOf(answer)])).toEqual([
      [200, '"token";r=2'],
      [200, '"token";r=1'],
      [200, '"token";r=0'],
    ]);
    expectTooMany(await login(client), '"token";q=3;w=60');
    expect((await login(partner)).status).toBe(200);
  });

  it('answers 429 to a client after two failed logins from an address, even with the right secret, but serves it at other addresses', async () => {
    const client = await newLogin();
    const failed = [await login({ ...client, ...wrong }), await login({ ...client, ...wrong })];
    expect(failed.map((answer) => [answer.status, answer.body.error, leftOf(answer)])).toEqual([
      [401, 'invalid_client', '"token-failures";r=1'],
      [401, 'invalid_client', '"token-failures";r=0'],
    ]);
    expectTooMany(await login({ ...client, ...wrong }), '"token-failures";q=2;w=60');
    expectTooMany(await login(client), '"token-failures";q=2;w=60');
    const elsewhere = await login(client, '192.0.2.2');
    // Failures do not use the quota of the client, so others cannot exhaust it.
    expect([elsewhere.status, leftOf(elsewhere)]).toEqual([200, '"token";r=2']);
  });

  it('counts failed logins of unknown clients, including concurrent ones', async () => {
    const unknown = { clientId: 'ces_aaaaaaaaaaaaaaaaaaaa', ...wrong };
    const answers = await Promise.all(Array.from({ length: 12 }, () => login(unknown)));
    expect(answers.map(({ status }) => status).sort()).toEqual([401, 401, ...Array<number>(10).fill(429)]);
  });

  it.each([
    ['without a well-formed client_id', '192.0.2.77', ['a', 'b', 'x'.repeat(100)]],
    ['of unknown clients', '192.0.2.79', Array.from('abc', (letter) => `ces_${letter.repeat(20)}`)],
  ])(
    'counts failed logins %s by the address alone, and still serves clients there',
    async (_which, address, clientIds) => {
      const answers: Answer[] = [];
      for (const clientId of clientIds) answers.push(await login({ clientId, ...wrong }, address));
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 429]);
      expect(answers.map(policyOf)).toEqual(Array(3).fill('"token-failures";q=2;w=60'));
      const [clientId = ''] = clientIds;
      expect((await login({ clientId, ...wrong }, '192.0.2.78')).status).toBe(401);
      expect((await login(await newLogin(), address)).status).toBe(200);
    },
  );

  it('counts failed logins from IPv6 by the /64 network', async () => {
    const client = await newLogin();
    const statuses = [];
    for (const address of ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:db8:0:1::3', '2001:db8:0:2::1']) {
      statuses.push((await login({ ...client, ...wrong }, address)).status);
    }
    expect(statuses).toEqual([401, 401, 429, 401]);
  });

  it('trusts only the X-Forwarded-For entries that trusted proxies added', () => {
    const socket = { remoteAddress: '::ffff:192.0.2.9' };
    const from = (forwarded: string | undefined, proxies: number) =>
      callerAddress({ headers: { 'x-forwarded-for': forwarded }, socket }, proxies);
    expect(from('198.51.100.66, 192.0.2.1', 0)).toBe('192.0.2.9');
    expect(from('198.51.100.66, 192.0.2.1', 1)).toBe('192.0.2.1');
    expect(from('198.51.100.66, 192.0.2.1, 192.0.2.2', 2)).toBe('192.0.2.1');
    expect(from('192.0.2.1, text', 1)).toBe('192.0.2.9');
    expect(from(undefined, 1)).toBe('192.0.2.9');
  });
});

it('verifyCertificate is limited by address, with the quota of failed logins', async () => {
  const verify = (address: string): Promise<Answer> =>
    call(harness, `GET /certificates/nobody.${harness.domain.newId()}`, {
      headers: { 'X-Forwarded-For': `10.0.0.1, ${address}` },
    });
  const answers = [await verify('192.0.2.9'), await verify('192.0.2.9'), await verify('192.0.2.9')];
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 429]);
  expect(answers.map(policyOf)).toEqual(Array(3).fill('"certificates";q=2;w=60'));
  expect((await verify('192.0.2.10')).status).toBe(404);
});

it('the service sends no RateLimit headers when it has no limits', async () => {
  const { limits } = harness.services;
  Object.assign(harness.services, { limits: null });
  const { status, headers } = await get('/clinics', partner.token);
  Object.assign(harness.services, { limits });
  expect([status, headers.get('RateLimit'), headers.get('RateLimit-Policy')]).toEqual([200, null, null]);
});
