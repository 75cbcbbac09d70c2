import { newToken } from '../support/factories.js';
import { useStage } from '../support/fixtures.js';
import { call } from '../support/http.js';
import { hasRedis, startRedis, type RedisServer } from '../support/redis.js';
import { startServer } from '../support/serverProcess.js';
import { newCredentials } from '../system/servers.js';
import { figure, isFull, tally } from './faults.js';

const itIfRedis = hasRedis() ? it : it.skip;
const REQUESTS = isFull ? 20_000 : 1_000;
const LIMIT = REQUESTS / 20;
/** Enough to keep the run short although refusals are delayed. */
const CALLERS = 100;
/** The limit applies to each minute from the first request on; a slow machine needs several minutes. */
const WINDOW_MS = 60_000;

let redis: RedisServer | undefined;
const stage = useStage();
afterAll(() => redis?.kill());

itIfRedis(
  'two processes enforce one limit through Redis, and keep answering when Redis is killed',
  async () => {
    redis = await startRedis();
    const limits = { RATE_LIMIT_REQUESTS: String(LIMIT), RATE_LIMIT_BURST: '1000000', RATE_LIMIT_REDIS_URL: redis.url };
    const environment = { ...stage.environment, ...limits };
    const servers = await Promise.all([1, 2].map(() => startServer(environment).started));

    /** Sends the requests of a new client to both servers in turn, and counts those that were served. */
    const ask = async (name: string, halfway: () => unknown) => {
      const client = await newCredentials(stage.db, name);
      const tokens = await Promise.all(servers.map((baseUrl) => newToken({ baseUrl }, client)));
      const statuses: number[] = [];
      let sent = 0;
      const begun = Date.now();
      const caller = async (): Promise<void> => {
        while (sent < REQUESTS) {
          const turn = (sent += 1) % 2;
          if (sent === REQUESTS / 50) void halfway();
          const options = { token: tokens[turn] };
          statuses.push((await call({ baseUrl: servers[turn] ?? '' }, 'GET /clinics?limit=1', options)).status);
        }
      };
      await Promise.all(Array.from({ length: CALLERS }, caller));
      const took = Date.now() - begun;
      figure(`limit of ${LIMIT}, ${name}`, `${JSON.stringify(tally(statuses))} in ${took} ms`);
      const { 200: served = 0, ...others } = tally(statuses);
      expect(others).toEqual({ 429: REQUESTS - served });
      return { served, minutes: Math.floor(took / WINDOW_MS) + 1 };
    };

    const counted = await ask('Redis there', () => undefined);
    // The last minute may be too short to use up its limit.
    expect(counted.served).toBeLessThanOrEqual(1.01 * LIMIT * counted.minutes);
    expect(counted.served).toBeGreaterThanOrEqual(0.99 * LIMIT * Math.max(1, counted.minutes - 1));

    const alone = await ask('Redis killed', () => redis?.kill());
    // The counts in Redis are lost, and each process counts alone.
    expect(alone.served).toBeGreaterThanOrEqual(LIMIT);
    expect(alone.served).toBeLessThanOrEqual(LIMIT + 2 * LIMIT * alone.minutes);
  },
  180_000,
);
