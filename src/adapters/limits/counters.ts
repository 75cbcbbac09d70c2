import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';

/** Maximum of keys that a process remembers per limit; then it forgets the least recently used ones. */
export const MAX_KEYS = 20_000;

export interface Count {
  readonly used: number;
  readonly endsInMs: number;
}

/** Counts uses of a key in windows that begin with its first use. An exhausted quota is known without Redis. */
export interface Counter {
  add(key: string, quota: number): Count | Promise<Count>;
  get(key: string, quota: number): Count | Promise<Count>;
}

export function countInMemory(windowSeconds: number) {
  const windowMs = windowSeconds * 1_000;
  const uses = new LRUCache<string, number>({ max: MAX_KEYS, ttl: windowMs });
  const get = (key: string): Count => {
    const used = uses.get(key);
    return used === undefined ? { used: 0, endsInMs: windowMs } : { used, endsInMs: uses.getRemainingTTL(key) };
  };
  return {
    get,
    add(key: string): Count {
      uses.set(key, get(key).used + 1, { noUpdateTTL: true });
      return get(key);
    },
    set: (key: string, { used, endsInMs }: Count) => void uses.set(key, used, { ttl: Math.max(1, endsInMs) }),
  };
}

/** Counts in Redis and copies each count into memory, where counting continues while Redis is down. */
export function countInRedis(redis: Redis, keyPrefix: string, windowSeconds: number): Counter {
  const memory = countInMemory(windowSeconds);
  // Redis itself enforces no quota: quotas differ by client, so the caller compares.
  const options = { storeClient: redis, points: Number.MAX_SAFE_INTEGER, rejectIfRedisNotReady: true };
  const shared = new RateLimiterRedis({ ...options, keyPrefix, duration: windowSeconds });
  const ask = async (
    key: string,
    quota: number,
    question: () => Promise<RateLimiterRes | null>,
    otherwise: (key: string) => Count,
  ): Promise<Count> => {
    if (memory.get(key).used >= quota) return otherwise(key);
    try {
      const answer = await question();
      if (!answer) return { used: 0, endsInMs: windowSeconds * 1_000 };
      const count = { used: answer.consumedPoints, endsInMs: answer.msBeforeNext };
      memory.set(key, count);
      return count;
    } catch {
      return otherwise(key);
    }
  };
  return {
    add: (key, quota) => ask(key, quota, () => shared.consume(key), memory.add),
    get: (key, quota) => ask(key, quota, () => shared.get(key), memory.get),
  };
}
