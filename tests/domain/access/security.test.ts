import type { Services } from '../../../src/context.js';
import type { ProblemCode } from '../../../src/contract.js';
import { deactivateApiClient, revokeTokens } from '../../../src/domain/access/apiClients.js';
import { setTenantActive } from '../../../src/domain/access/tenants.js';
import { everyCase } from '../../support/everyCase.js';
import { newClient, newPartner, newToken, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';
import { alterToken, asForm } from '../../support/tokens.js';
import { words } from '../../support/words.js';

const CHALLENGE = 'Bearer realm="clinical-encounter"';
const REFUSED = `${CHALLENGE}, error="invalid_token"`;
const LIFETIME = 25_200;

/** Tokens whose signature the service has checked, in order. */
const checked: string[] = [];
const harness = await openHarness({ change: recordChecks });
let partner = await newPartner(harness);
const key = (await harness.services.keys.current())[0];
// Some tests move the clock past the life of a token.
beforeEach(async () => {
  partner = { ...partner, token: await newToken(harness, partner) };
});

function recordChecks(services: Services): Services {
  const { tokens } = services;
  const verify: typeof tokens.verify = (kind, token, now) => {
    checked.push(token);
    return tokens.verify(kind, token, now);
  };
  return Object.assign(services, { tokens: { ...tokens, verify } });
}

const listClinics = (token: string): Promise<Answer> => call(harness, 'GET /clinics', { token });

function expectRefusal(answer: Answer, code: ProblemCode, challenge = REFUSED): void {
  expectProblem(answer, 401, code);
  expect(answer.headers.get('WWW-Authenticate')).toBe(challenge);
}

/** A valid token with these changes, signed by the service's key, so that only a change can cause a refusal. */
const altered = (header: object, payload: object = {}): string =>
  alterToken(partner.token, key.privateKey, header, payload);

describe('the Authorization header', () => {
  it.each<[ProblemCode, string, (string | undefined)[]]>([
    ['token_missing', CHALLENGE, [undefined, '', 'Basic Y2VzOmNlc3M=', 'eyJhbGciOiJFUzI1NiJ9.e30.x']],
    ['token_invalid', REFUSED, ['Bearer', 'Bearer ', 'Bearer two words', 'bearer =', 'Bearer "quoted"']],
  ])('is refused as %s with the challenge %s: %j', async (code, challenge, values) => {
    for (const value of values) {
      const headers = value === undefined ? {} : { Authorization: value };
      expectRefusal(await call(harness, 'GET /clinics', { headers }), code, challenge);
    }
  });

  it('is accepted with the scheme in any letter case (RFC 9110 §11.1)', async () => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer ']) {
      const headers = { Authorization: `${scheme} ${partner.token}` };
      expect((await call(harness, 'GET /clinics', { headers })).status).toBe(200);
    }
  });

  it('is the only place for a token, and a token in the URL or a form is ignored', async () => {
    expectRefusal(await call(harness, `GET /clinics?access_token=${partner.token}`), 'token_missing', CHALLENGE);
    const form = asForm({ access_token: partner.token });
    expectRefusal(await call(harness, 'POST /encounters/status', form), 'token_missing', CHALLENGE);
  });
});

describe('an access token', () => {
  it.each([
    ['an unknown client', { client_id: `ces_${'a'.repeat(20)}` }],
    ['a client of another tenant', { tenant_id: 'other-tenant' }],
  ])('is refused for %s despite a valid signature', async (_name, payload) => {
    expectRefusal(await listClinics(altered({}, payload)), 'client_inactive');
  });

  it('is accepted until 30 s after its exp claim, then refused, whether it was used before or not', async () => {
    const [seen, unseen] = [await newToken(harness, partner), await newToken(harness, partner)];
    harness.clock.advance(LIFETIME + 29);
    expect((await listClinics(seen)).status).toBe(200);
    harness.clock.advance(1);
    expectRefusal(await listClinics(seen), 'token_expired');
    expectRefusal(await listClinics(unseen), 'token_expired');
    harness.clock.advance(LIFETIME);
    expectRefusal(await listClinics(seen), 'token_expired');
  });

  it('has its signature verified once in 30 s', async () => {
    const token = await newToken(harness, partner);
    const checks = () => checked.filter((other) => other === token).length;
    for (let count = 0; count < 3; count += 1) expect((await listClinics(token)).status).toBe(200);
    expect(checks()).toBe(1);
    harness.clock.advance(29);
    await listClinics(token);
    expect(checks()).toBe(1);
    harness.clock.advance(1);
    await listClinics(token);
    expect(checks()).toBe(2);
  });
});

describe('a token in use', () => {
  const inUse = async (client: Partner): Promise<Partner> => {
    expect((await listClinics(client.token)).status).toBe(200);
    return client;
  };

  it('is refused within 30 s after its client is deactivated', async () => {
    const client = await inUse(await newClient(harness, partner.tenantId));
    await deactivateApiClient(harness.domain, client.clientId);
    harness.clock.advance(30);
    expectRefusal(await listClinics(client.token), 'client_inactive');
  });

  it('is refused within 30 s after its tenant is deactivated, and accepted after the tenant is reactivated', async () => {
    const client = await inUse(await newPartner(harness));
    await setTenantActive(harness.domain, client.tenantId, false);
    harness.clock.advance(30);
    expectRefusal(await listClinics(client.token), 'client_inactive');
    await setTenantActive(harness.domain, client.tenantId, true);
    harness.clock.advance(30);
    expect((await listClinics(client.token)).status).toBe(200);
    expect((await listClinics(await newToken(harness, partner))).status).toBe(200);
  });

  it('is refused within 30 s after a revocation by an operator with any clock, while later tokens are accepted', async () => {
    for (const seconds of [0, 3_600, -3_600]) {
      const client = await inUse(await newClient(harness, partner.tenantId));
      const now = () => new Date(harness.clock.now.getTime() + seconds * 1000);
      await revokeTokens({ ...harness.domain, now }, client.clientId);
      // The server does not know of the revocation yet.
      const later = await inUse({ ...client, token: await newToken(harness, client) });
      harness.clock.advance(30);
      expectRefusal(await listClinics(client.token), 'token_invalid');
      await inUse(later);
    }
  });
});

describe('permissions', () => {
  const refused = async (token: string): Promise<void> => {
    const answer = await listClinics(token);
    expectProblem(answer, 403, 'insufficient_permission');
    const challenge = `${CHALLENGE}, error="insufficient_scope", scope="admin:clinic"`;
    expect(answer.headers.get('WWW-Authenticate')).toBe(challenge);
  };

  const others = [
    ...words('* admin admin: admin:* admin:clinics ADMIN:CLINIC xadmin:clinic admin:clinic,read:client'),
    ...['', ' ', 'admin:\tclinic', 'admin:clinic\n'],
  ];
  it('are matched exactly', () => everyCase(others, JSON.stringify, (scope) => refused(altered({}, { scope }))));
});
