import { setTimeout as delay } from 'node:timers/promises';
import type { Lab } from './parts.js';

/** Causes a fault, ends it after `faultMs`, and waits for the recovery. */
type Scenario = (lab: Lab, faultMs: number) => Promise<unknown>;

const CLOCK_SKEW_SECONDS = 600;
/** Milliseconds until haproxy uses a recovered server again, which it does after its next check. */
const NOTICED_MS = 2_500;

export const scenarios: Readonly<Record<string, Scenario>> = {
  'no fault': (_lab, faultMs) => delay(faultMs),
  'rolling restart': async ({ servers }) => {
    for (const server of servers) {
      await server.stop();
      await server.start();
      await delay(NOTICED_MS);
    }
  },
  'kill -9 of each server': async ({ servers }) => {
    for (const server of servers) {
      await server.stop('SIGKILL');
      await server.start();
      await delay(NOTICED_MS);
    }
  },
  'primary killed, standby promoted': async ({ postgres }) => {
    await postgres.primary().stop('SIGKILL');
    await postgres.promote();
    await delay(NOTICED_MS);
    await postgres.rebuildStandby();
  },
  'standby lost': async ({ postgres }, faultMs) => {
    await postgres.standby().stop('SIGKILL');
    await delay(faultMs);
    await postgres.standby().start();
  },
  'one server cut off from PostgreSQL': async ({ servers: [server] }, faultMs) => {
    server?.ways.forEach((way) => way.hang());
    await delay(faultMs);
    for (const way of server?.ways ?? []) await way.mend();
  },
  'Redis lost': async ({ redis }, faultMs) => {
    await redis.stop('SIGKILL');
    await delay(faultMs);
    await redis.start();
  },
  'S3 lost': async ({ s3 }, faultMs) => {
    await s3.cut();
    await delay(faultMs);
    await s3.mend();
  },
  'clock of one server 10 minutes ahead': async ({ servers: [server] }, faultMs) => {
    await server?.stop();
    await server?.startSkewed(CLOCK_SKEW_SECONDS);
    await delay(NOTICED_MS + faultMs);
    await server?.stop();
    await server?.start();
  },
};
