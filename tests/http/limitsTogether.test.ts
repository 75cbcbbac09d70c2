import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { newClient, newPartner, newToken, type Credentials, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { hasRedis, startRedis, type RedisServer } from '../support/redis.js';
import { loginBody } from '../support/tokens.js';

const describeIfRedis = hasRedis() ? describe : describe.skip;
const LIMIT = 100;
const DOWN =
  'each process counts alone, because Redis at RATE_LIMIT_REDIS_URL cannot be used: see "scripts/ces doctor"';
const UP = 'Redis at RATE_LIMIT_REDIS_URL answers again; it counts for all servers';

describeIfRedis('servers with one Redis', () => {
  let redis: RedisServer;
  let database: TestDatabase;
  let first: Harness;
  let servers: Harness[];
  let partner: Partner;
  beforeAll(async () => {
    [redis, database] = await Promise.all([startRedis(), createTestDatabase()]);
    const environment = {
      RATE_LIMIT: 'on',
      RATE_LIMIT_REQUESTS: String(LIMIT),
      RATE_LIMIT_BURST: '100000',
      RATE_LIMIT_REDIS_URL: redis.url,
    };
    first = await startHarness({ environment, databaseUrl: database.url });
    servers = [first, await startHarness({ environment, databaseUrl: database.url })];
    partner = await newPartner(first);
  });
  /** A third server, with default limits. */
  const startLate = (): Promise<Harness> =>
    startHarness({ environment: { RATE_LIMIT: 'on', RATE_LIMIT_REDIS_URL: redis.url }, databaseUrl: database.url });
  async function stop(server: Harness): Promise<void> {
    server.services.limits?.close();
    await server.close();
  }
  afterAll(async () => {
    for (const server of servers) await stop(server);
    await redis.kill();
    await database.drop();
  });

  /** Sends requests to the servers in turn; returns how many got each status. */
  async function ask(client: Credentials, count: number): Promise<Record<number, number>> {
    const tokens = await Promise.all(servers.map((server) => newToken(server, client)));
    const answers = Array.from({ length: count }, (_, index) =>
      call(servers[index % 2] ?? first, 'GET /clinics?limit=1', { token: tokens[index % 2] }),
    );
    const seen: Record<number, number> = {};
    for (const { status } of await Promise.all(answers)) seen[status] = (seen[status] ?? 0) + 1;
    return seen;
  }

  /** Logged changes between counting alone and together. */
  const changesOf = ({ logged }: Harness): unknown[] =>
    logged.map(({ msg }) => msg).filter((msg) => [DOWN, UP].includes(String(msg)));

  it('enforce one shared limit exactly', async () => {
    expect(await ask(partner, 4 * LIMIT)).toEqual({ 200: LIMIT, 429: 3 * LIMIT });
  });

  it('store only hashed keys, which expire within a minute', async () => {
    const credentials = { clientId: 'no client id', clientSecret: 'wrong' };
    expect((await call(first, 'POST /oauth/token', { json: loginBody(credentials) })).status).toBe(401);
    const client = new Redis(redis.url);
    const keys = await client.keys('*');
    const lifetimes = await Promise.all(keys.map((key) => client.pttl(key)));
    client.disconnect();
    expect(keys.filter((key) => !/^ces:limit:[a-z-]+:[\w-]{43}$/.test(key))).toEqual([]);
    expect(keys.some((key) => key.startsWith('ces:limit:token-failures:'))).toBe(true);
    expect(lifetimes.filter((milliseconds) => milliseconds <= 0 || milliseconds > 60_000)).toEqual([]);
  });

  it('count requests separately while Redis is down and together when it is back, log each change once, and fail no request', async () => {
    const client = (): Promise<Partner> => newClient(first, partner.tenantId);
    const [before, during, after] = [await client(), await client(), await client()];
    const asked = ask(before, 4 * LIMIT);
    await redis.kill();
    expect(Object.keys(await asked).filter((status) => !['200', '429'].includes(status))).toEqual([]);
    expect(await ask(during, 4 * LIMIT)).toEqual({ 200: 2 * LIMIT, 429: 2 * LIMIT });
    expect(servers.map(changesOf)).toEqual([[DOWN], [DOWN]]);

    await redis.start();
    while (servers.some((server) => changesOf(server).length < 2)) await delay(20);
    expect(await ask(after, 4 * LIMIT)).toEqual({ 200: LIMIT, 429: 3 * LIMIT });
    expect(servers.map(changesOf)).toEqual([
      [DOWN, UP],
      [DOWN, UP],
    ]);
  });

  it('count requests separately while Redis hangs, and start without waiting for it', async () => {
    const [during, later] = [await newClient(first, partner.tenantId), await newClient(first, partner.tenantId)];
    const changesBefore = servers.map((server) => changesOf(server).length);
    const heard = (more: number): boolean =>
      servers.every((server, index) => changesOf(server).length >= (changesBefore[index] ?? 0) + more);
    redis.hang();
    const asked = ask(during, 4 * LIMIT);
    const late = startLate();
    // Every request gets a response while Redis hangs; until a server counts it as down, 200 and 429 are both possible.
    expect(Object.keys(await asked).filter((status) => !['200', '429'].includes(status))).toEqual([]);
    expect(heard(1)).toBe(true);
    expect(await ask(later, 4 * LIMIT)).toEqual({ 200: 2 * LIMIT, 429: 2 * LIMIT });
    expect(changesOf(await late)).toEqual([DOWN]);
    await stop(await late);
    redis.wake();
    while (!heard(2)) await delay(20);
  });

  it('start while Redis is down', async () => {
    await redis.kill();
    const late = await startLate();
    expect((await call(late, 'GET /clinics', { token: (await newPartner(late)).token })).status).toBe(200);
    expect(changesOf(late)).toEqual([DOWN]);
    await stop(late);
  });
});
