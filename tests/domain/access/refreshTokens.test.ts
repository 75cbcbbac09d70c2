import { deactivateApiClient, revokeTokens } from '../../../src/domain/access/apiClients.js';
import { rotateSecret } from '../../../src/domain/access/apiClientSecrets.js';
import { setTenantActive } from '../../../src/domain/access/tenants.js';
import { newClient, newPartner, type Credentials, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { alterToken, login, readToken, refresh } from '../../support/tokens.js';

const DAY = 86_400;

const harness = await openHarness();
const partner = await newPartner(harness);

const refreshTokenOf = async (client: Credentials, more = {}): Promise<string> =>
  (await login(harness, client, more)).body.refresh_token;
const newClientOfPartner = (): Promise<Partner> => newClient(harness, partner.tenantId);
const mayListClinics = async ({ body }: Answer): Promise<boolean> =>
  (await call(harness, 'GET /clinics', { token: body.access_token })).status === 200;

/** A refused refresh token is 401, without a challenge because the request does not use HTTP Basic. */
function expectInvalidGrant(answer: Answer): void {
  expect(answer.body).toEqual({ error: 'invalid_grant', error_description: expect.any(String) });
  expect(answer.status).toBe(401);
  expect(answer.headers.get('Cache-Control')).toBe('no-store');
  expect(answer.headers.has('WWW-Authenticate')).toBe(false);
}

function expectInvalidClient(answer: Answer): void {
  expect(answer.body).toMatchObject({ error: 'invalid_client' });
  expect(answer.status).toBe(401);
}

describe('a refresh token', () => {
  it('is exchanged for a new pair, whose access token has the claims of the first one except times and id', async () => {
    const first = await login(harness, partner);
    harness.clock.advance(10);
    const renewed = await refresh(harness, partner, first.body.refresh_token);
    const tokens = { access_token: expect.any(String), refresh_token: expect.any(String), token_type: 'Bearer' };
    expect(renewed.body).toEqual({ ...tokens, expires_in: 25_200, refresh_token_expires_in: 2_592_000 });
    expect(renewed.status).toBe(200);
    expect(renewed.headers.get('Cache-Control')).toBe('no-store');
    const claims = (token: string) => ({ ...readToken(token).payload, iat: 0, exp: 0, jti: '' });
    expect(claims(renewed.body.access_token)).toEqual(claims(first.body.access_token));
    expect(await mayListClinics(renewed)).toBe(true);
  });

  it('can be used repeatedly, and its successor is valid, too', async () => {
    const token = await refreshTokenOf(partner);
    const [first, second] = [await refresh(harness, partner, token), await refresh(harness, partner, token)];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect((await refresh(harness, partner, second.body.refresh_token)).status).toBe(200);
  });

  it('expires after 30 days and 30 s of clock skew', async () => {
    const token = await refreshTokenOf(partner);
    harness.clock.advance(30 * DAY + 29);
    expect((await refresh(harness, partner, token)).status).toBe(200);
    harness.clock.advance(1);
    expectInvalidGrant(await refresh(harness, partner, token));
  });
});

describe('the scope of a refresh token', () => {
  const narrowed = { scope: 'admin:clinic read:client' };

  const scopeOf = (token: string) => readToken(token).payload['scope'];

  it('stays as narrow as it was granted', async () => {
    const { body } = await refresh(harness, partner, await refreshTokenOf(partner, narrowed));
    expect([scopeOf(body.access_token), scopeOf(body.refresh_token)]).toEqual([narrowed.scope, narrowed.scope]);
    expect(body).not.toHaveProperty('scope');
  });

  it('can be narrowed, and the response states the narrower scope', async () => {
    const renewed = await refresh(harness, partner, await refreshTokenOf(partner, narrowed), { scope: 'read:client' });
    expect(renewed.body.scope).toBe('read:client');
    expect(await mayListClinics(renewed)).toBe(false);
  });

  it('cannot be widened, even to a permission of the client', async () => {
    const answer = await refresh(harness, partner, await refreshTokenOf(partner, narrowed), { scope: 'write:client' });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_scope']);
  });

  it('loses the permissions that the client has lost', async () => {
    const client = await newClientOfPartner();
    const token = await refreshTokenOf(client, narrowed);
    const where = { tenantId: client.tenantId, clientId: client.clientId };
    await harness.domain.db.prisma.apiClient.updateMany({ where, data: { permissions: ['read:client'] } });
    const renewed = await refresh(harness, client, token);
    expect(scopeOf(renewed.body.access_token)).toBe('read:client');
    expect(await mayListClinics(renewed)).toBe(false);
  });
});

describe('invalid_grant', () => {
  it('is the error for a signed refresh token with another tenant or client or without a secret, for an access token and for garbage', async () => {
    const token = await refreshTokenOf(partner);
    const [{ privateKey }] = await harness.services.keys.current();
    const altered = (payload: object) => alterToken(token, privateKey, {}, payload);
    const others = [{ tenant_id: 'other-tenant' }, { client_id: `ces_${'a'.repeat(20)}` }, { secret_id: undefined }];
    for (const payload of others) expectInvalidGrant(await refresh(harness, partner, altered(payload)));
    for (const forged of ['garbage', partner.token]) expectInvalidGrant(await refresh(harness, partner, forged));
    expect((await refresh(harness, partner, altered({}))).status).toBe(200);
  });

  it('is the error for the refresh token of another client, in the same tenant and in another one', async () => {
    const token = await refreshTokenOf(partner);
    for (const thief of [await newClientOfPartner(), await newPartner(harness)]) {
      expectInvalidGrant(await refresh(harness, thief, token));
    }
  });
});

describe('the validity of a refresh token', () => {
  it('ends when the secret that it was issued under expires, while a token issued under the new secret stays valid', async () => {
    const client = await newClientOfPartner();
    const oldToken = await refreshTokenOf(client);
    const { clientSecret } = await rotateSecret(harness.domain, client.clientId, DAY);
    const renewed = { ...client, clientSecret };
    const newToken = await refreshTokenOf(renewed);
    const moved = await refresh(harness, renewed, oldToken);
    harness.clock.advance(DAY);
    expectInvalidGrant(await refresh(harness, renewed, oldToken));
    expectInvalidClient(await refresh(harness, client, oldToken));
    for (const token of [newToken, moved.body.refresh_token]) {
      expect((await refresh(harness, renewed, token)).status).toBe(200);
    }
  });

  it('ends when its client or its tenant is deactivated', async () => {
    const [client, other] = [await newClientOfPartner(), await newPartner(harness)];
    const tokens = [await refreshTokenOf(client), await refreshTokenOf(other)];
    await deactivateApiClient(harness.domain, client.clientId);
    await setTenantActive(harness.domain, other.tenantId, false);
    expectInvalidClient(await refresh(harness, client, tokens[0] ?? ''));
    expectInvalidClient(await refresh(harness, other, tokens[1] ?? ''));
  });

  it('ends when an operator revokes the tokens of its client, even with a wrong clock, while later tokens stay valid', async () => {
    const client = await newClientOfPartner();
    for (const seconds of [0, 3_600, -3_600, 0]) {
      const token = await refreshTokenOf(client);
      const now = () => new Date(harness.clock.now.getTime() + seconds * 1000);
      await revokeTokens({ ...harness.domain, now }, client.clientId);
      expectInvalidGrant(await refresh(harness, client, token));
      const refreshed = await refresh(harness, client, await refreshTokenOf(client));
      expect((await refresh(harness, client, refreshed.body.refresh_token)).status).toBe(200);
    }
    expect((await refresh(harness, partner, await refreshTokenOf(partner))).status).toBe(200);
  });
});
