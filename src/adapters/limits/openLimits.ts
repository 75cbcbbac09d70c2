import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Quotas } from '../../config.js';
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import type { LimitName, Limits, Usage } from './limits.js';
import { connectRedis } from './redisClient.js';

/**
 * Creates the limits, counted in windows that begin with a key's first use. If configured, Redis counts for all servers,
 * and while it is down, each process alone; `burst`, which protects a process, is never shared.
 */
export async function openLimits(quotas: Quotas, redisUrl: string | null, log: Logger): Promise<Limits> {
  const storeClient = redisUrl === null ? undefined : await connectRedis(redisUrl, log);
  const counters = new Map<LimitName, RateLimiterMemory | RateLimiterRedis>();

  const counterOf = (name: LimitName): RateLimiterMemory | RateLimiterRedis => {
    const known = counters.get(name);
    if (known) return known;
    // The library enforces no quota: quotas differ by client, so `usageOf` compares.
    const options = { points: Number.MAX_SAFE_INTEGER, duration: windowOf(name), keyPrefix: `ces:limit:${name}` };
    const alone = new RateLimiterMemory(options);
    const shared = { ...options, storeClient, rejectIfRedisNotReady: true, insuranceLimiter: alone };
    const counter = storeClient && name !== 'burst' ? new RateLimiterRedis(shared) : alone;
    counters.set(name, counter);
    return counter;
  };

  return {
    async take(name, key, ownQuota) {
      const quota = quotaOf(quotas, name, ownQuota);
      return usageOf(name, quota, await counterOf(name).consume(hashOf(key)), 0);
    },
    async look(name, key) {
      return usageOf(name, quotas[name], await counterOf(name).get(hashOf(key)), 1);
    },
    close: () => storeClient?.disconnect(),
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

/** @param next uses that have not been counted yet */
function usageOf(name: LimitName, quota: number, count: RateLimiterRes | null, next: 0 | 1): Usage {
  const { consumedPoints: used, msBeforeNext } = count ?? { consumedPoints: 0, msBeforeNext: windowOf(name) * 1_000 };
  const remaining = Math.max(0, quota - used);
  const resetSeconds = Math.max(1, Math.ceil(msBeforeNext / 1_000));
  return { name, quota, windowSeconds: windowOf(name), remaining, resetSeconds, isExceeded: used + next > quota };
}
