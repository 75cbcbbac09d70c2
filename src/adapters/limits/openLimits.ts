import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible';
import type { Quotas } from '../../config.js';
import type { LimitName, Limits, Usage } from './limits.js';
import { connectRedis } from './redisClient.js';

/** Counts in Redis for all servers or, without it, in memory; `burst`, which protects the process, always in memory. */
export async function openLimits(quotas: Quotas, redisUrl: string | null, log: Logger): Promise<Limits> {
  const redis = redisUrl === null ? undefined : await connectRedis(redisUrl, log);
  const limiters = new Map<string, RateLimiterAbstract>();

  const limiterOf = (name: LimitName, points: number): RateLimiterAbstract => {
    const id = `${name} ${points}`;
    const known = limiters.get(id);
    if (known) return known;
    const limiter = newLimiter(name, points, name === 'burst' ? undefined : redis);
    limiters.set(id, limiter);
    return limiter;
  };

  return {
    async take(name, key, ownQuota) {
      const limiter = limiterOf(name, quotaOf(quotas, name, ownQuota));
      try {
        return usageOf(name, limiter, await limiter.consume(key), false);
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        return usageOf(name, limiter, refusal, true);
      }
    },
    async look(name, key) {
      const limiter = limiterOf(name, quotas[name]);
      const found = (await limiter.get(key)) ?? new RateLimiterRes(limiter.points, limiter.msDuration);
      return usageOf(name, limiter, found, found.remainingPoints <= 0);
    },
    close: () => redis?.disconnect(),
  };
}

/** A client's own limit is that of its requests; it makes the others smaller, not larger, and its bursts larger. */
function quotaOf(quotas: Quotas, name: LimitName, own: number | undefined): number {
  if (own === undefined) return quotas[name];
  if (name === 'default') return own;
  if (name === 'burst') return Math.max(quotas.burst, Math.ceil((own * quotas.burst) / quotas.default));
  return Math.min(quotas[name], own);
}

function newLimiter(name: LimitName, points: number, redis: Redis | undefined): RateLimiterAbstract {
  const options = { keyPrefix: name, points, duration: name === 'burst' ? 1 : 60 };
  const memory = new RateLimiterMemory(options);
  if (!redis) return memory;
  return new RateLimiterRedis({
    ...options,
    keyPrefix: `ces:limit:${name}`,
    storeClient: redis,
    // What is used up is known here until its time is over: a flood of refused requests does not reach Redis.
    inMemoryBlockOnConsumed: points,
    rejectIfRedisNotReady: true,
    insuranceLimiter: memory,
  });
}

function usageOf(
  name: LimitName,
  { points: quota, duration: windowSeconds }: RateLimiterAbstract,
  { remainingPoints: remaining, msBeforeNext }: RateLimiterRes,
  isExceeded: boolean,
): Usage {
  const resetSeconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return { name, quota, windowSeconds, remaining, resetSeconds, isExceeded };
}
