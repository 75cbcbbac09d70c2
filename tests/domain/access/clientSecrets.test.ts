import { createHash } from 'node:crypto';
import { Prisma } from '../../../generated/prisma/client.js';
import { createApiClient, deactivateApiClient } from '../../../src/domain/access/apiClients.js';
import { rotateSecret } from '../../../src/domain/access/apiClientSecrets.js';
import { authenticateClient } from '../../../src/domain/access/clientAuthentication.js';
import { createTenant } from '../../../src/domain/access/tenants.js';
import { newClient, newPartner, type Credentials, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { whileBlocked } from '../../support/lockWaits.js';
import { login } from '../../support/tokens.js';

const HOUR = 3_600;

const harness = await openHarness();
const partner = await newPartner(harness);

const loginStatus = async (client: Credentials): Promise<number> => (await login(harness, client)).status;
const secretsOf = ({ tenantId, clientId }: Partner) =>
  harness.domain.db.prisma.apiClientSecret.findMany({
    where: { tenantId, apiClient: { clientId } },
    orderBy: { id: 'asc' },
  });
const clientOf = ({ tenantId, clientId }: Partner) =>
  harness.domain.db.prisma.apiClient.findFirstOrThrow({ where: { tenantId, clientId } });

/** The client with its new secret; the old one expires after so many seconds. */
const rotated = async (client: Partner, seconds: number): Promise<Partner> => ({
  ...client,
  clientSecret: (await rotateSecret(harness.domain, client.clientId, seconds)).clientSecret,
});

/** A client that has never logged in. */
async function unusedClient(): Promise<Partner> {
  const wanted = { tenant: partner.tenantId, name: harness.domain.newId(), preset: 'partner' } as const;
  return { ...(await createApiClient(harness.domain, wanted)), token: '' };
}

describe('a client secret', () => {
  it.each([
    ['live', /^cess_live_[\w-]{43}$/],
    ['sandbox', /^cess_test_[\w-]{43}$/],
  ] as const)(
    'has 43 base64url characters, which differ between clients, behind the prefix of a %s tenant',
    async (mode, shape) => {
      const tenant = await createTenant(harness.domain, { name: `Secrets of ${mode}`, mode });
      const clients = await Promise.all(
        ['one', 'two'].map((name) => createApiClient(harness.domain, { tenant: tenant.id, name, preset: 'partner' })),
      );
      for (const { clientId, clientSecret } of clients) {
        expect(clientSecret).toMatch(shape);
        expect(clientId).toMatch(/^ces_[a-z2-7]{20}$/);
      }
      expect(new Set(clients.map(({ clientSecret }) => clientSecret)).size).toBe(2);
    },
  );

  it('is stored only as its SHA-256 and its last four characters', async () => {
    const client = await newClient(harness, partner.tenantId);
    const [stored] = await secretsOf(client);
    const secretHash = new Uint8Array(createHash('sha256').update(client.clientSecret).digest());
    expect(stored).toMatchObject({ secretHash, hint: client.clientSecret.slice(-4) });
    const rows = await harness.domain.db.prisma.$queryRaw<{ text: string }[]>`
      SELECT s::text AS text FROM api_client_secret s UNION ALL SELECT c::text FROM api_client c`;
    expect(rows.length).toBeGreaterThan(1);
    expect(JSON.stringify(rows)).not.toContain(client.clientSecret.slice(10));
  });
});

describe('rotation', () => {
  it('expires the old secret exactly at the given time', async () => {
    const client = await newClient(harness, partner.tenantId);
    const renewed = await rotated(client, HOUR);
    harness.clock.advance(HOUR - 1);
    expect([await loginStatus(client), await loginStatus(renewed)]).toEqual([200, 200]);
    harness.clock.advance(1);
    expect([await loginStatus(client), await loginStatus(renewed)]).toEqual([401, 200]);
  });

  it('refuses a third active secret, even to ten concurrent rotations, until one has ended', async () => {
    const client = await newClient(harness, partner.tenantId);
    const rotate = () => rotateSecret(harness.domain, client.clientId, HOUR);
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, rotate));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(rotate()).rejects.toThrow('has 2 active secrets');
    expect(await secretsOf(client)).toHaveLength(2);
    harness.clock.advance(HOUR);
    await expect(rotate()).resolves.toMatchObject({ clientId: client.clientId });
  });

  it('ends every earlier secret at once if they are to expire after 0 s', async () => {
    const client = await newClient(harness, partner.tenantId);
    const second = await rotated(client, HOUR);
    const third = await rotated(client, 0);
    expect(await Promise.all([client, second, third].map(loginStatus))).toEqual([401, 401, 200]);
  });

  it('does not fail a login that waits for its lock on the client', async () => {
    const client = await unusedClient();
    const [secret] = await secretsOf(client);
    const { status } = await whileBlocked(
      harness,
      Prisma.sql`SELECT FROM api_client WHERE client_id = ${client.clientId} FOR NO KEY UPDATE`,
      () => login(harness, client),
      (rotation) =>
        rotation.apiClientSecret.updateMany({
          where: { tenantId: client.tenantId, id: secret?.id ?? '' },
          data: { hint: 'late' },
        }),
    );
    expect(status).toBe(200);
  });
});

describe('the check of a secret', () => {
  it('queries the database once for an unknown client, an inactive client and a wrong secret alike', async () => {
    const inactive = await newClient(harness, partner.tenantId);
    await deactivateApiClient(harness.domain, inactive.clientId);
    const queriesFor = async (clientId: string): Promise<string[]> => {
      const used: string[] = [];
      const { domain, services } = harness;
      const db = new Proxy(domain.db, {
        get(target, name): unknown {
          used.push(String(name));
          const member: unknown = Reflect.get(target, name);
          return typeof member === 'function' ? member.bind(target) : member;
        },
      });
      const request = { db, requestId: '', authorization: undefined, audit: {} };
      const context = Object.assign(Object.create(services), request);
      expect(await authenticateClient(context, clientId, partner.clientSecret.toLowerCase())).toBeNull();
      return used;
    };
    for (const clientId of [partner.clientId, `ces_${'a'.repeat(20)}`, inactive.clientId]) {
      expect(await queriesFor(clientId)).toEqual(['everyTenant']);
    }
  });
});

describe('issueToken', () => {
  it('records the time of use for the secret and the client at most once an hour', async () => {
    const client = await unusedClient();
    const noted = async () => [(await clientOf(client)).lastUsedAt, (await secretsOf(client))[0]?.lastUsedAt];
    expect(await noted()).toEqual([null, null]);
    await login(harness, { ...client, clientSecret: `${client.clientSecret}x` });
    expect(await noted()).toEqual([null, null]);

    const first = harness.clock.now;
    await login(harness, client);
    expect(await noted()).toEqual([first, first]);
    harness.clock.advance(HOUR - 1);
    await login(harness, client);
    expect(await noted()).toEqual([first, first]);
    harness.clock.advance(1);
    await login(harness, client);
    expect(await noted()).toEqual([harness.clock.now, harness.clock.now]);
  });

  it('records the use only for the secret of the login', async () => {
    const client = await unusedClient();
    const renewed = await rotated(client, HOUR);
    await login(harness, renewed);
    const used = (await secretsOf(client)).filter(({ lastUsedAt }) => lastUsedAt !== null);
    expect(used.map(({ hint }) => hint)).toEqual([renewed.clientSecret.slice(-4)]);
  });
});
