import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Quotas } from '../../config.js';
import { countInMemory, countInRedis, type Count, type Counter } from './counters.js';
import type { LimitName, Limits, Usage } from './limits.js';
import { connectRedis } from './redisClient.js';

/** Creates the limits, counted in Redis for all servers if configured; `burst`, which protects a process, never is. */
export async function openLimits(quotas: Quotas, redisUrl: string | null, log: Logger): Promise<Limits> {
  const redis = redisUrl === null ? undefined : await connectRedis(redisUrl, log);
  const counters = new Map<LimitName, Counter>();

  const counterOf = (name: LimitName): Counter => {
    const known = counters.get(name);
    if (known) return known;
    const seconds = windowOf(name);
    const counter =
      redis && name !== 'burst' ? countInRedis(redis, `ces:limit:${name}`, seconds) : countInMemory(seconds);
    counters.set(name, counter);
    return counter;
  };

  return {
    async take(name, key, ownQuota) {
      const quota = quotaOf(quotas, name, ownQuota);
      const count = await counterOf(name).add(hashOf(key), quota);
      return usageOf(name, quota, count, count.used > quota);
    },
    async look(name, key) {
      const quota = quotas[name];
      const count = await counterOf(name).get(hashOf(key), quota);
      return usageOf(name, quota, count, count.used >= quota);
    },
    close: () => redis?.disconnect(),
  };
}

/** Hashes a key before it is stored: keys may contain addresses, and callers control their length. */
const hashOf = (key: string): string => hash('sha256', key, 'base64url');

const windowOf = (name: LimitName): number => (name === 'burst' ? 1 : 60);

/** The quota of a client for a limit. Its own limit replaces the default, caps other limits, and scales bursts. */
function quotaOf(quotas: Quotas, name: LimitName, own: number | undefined): number {
  if (own === undefined) return quotas[name];
  if (name === 'default') return own;
  if (name === 'burst') return Math.max(quotas.burst, Math.ceil((own * quotas.burst) / quotas.default));
  return Math.min(quotas[name], own);
}

function usageOf(name: LimitName, quota: number, { used, endsInMs }: Count, isExceeded: boolean): Usage {
  const remaining = Math.max(0, quota - used);
  const resetSeconds = Math.max(1, Math.ceil(endsInMs / 1000));
  return { name, quota, windowSeconds: windowOf(name), remaining, resetSeconds, isExceeded };
}
