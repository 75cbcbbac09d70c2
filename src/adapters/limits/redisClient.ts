import type { Redis as RedisClient } from 'ioredis';
import type { Logger } from 'pino';
import { metrics } from '../../telemetry.js';

/** Milliseconds without a response after which Redis counts as down. */
const SILENCE_TIMEOUT = 1_000;
/** Maximum pause between attempts to reconnect, in milliseconds. */
const LONGEST_RETRY = 2_000;

/** Connects to Valkey or Redis and reconnects after a logged loss. While disconnected, commands fail at once. */
export async function connectRedis(url: string, log: Logger): Promise<RedisClient> {
  // Import ioredis only if Redis is configured.
  const { Redis } = await import('ioredis');
  const client = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: SILENCE_TIMEOUT,
    socketTimeout: SILENCE_TIMEOUT,
    retryStrategy: (attempts) => Math.min(attempts * 100, LONGEST_RETRY),
  });
  let isAway = false;
  let reason: string | undefined;
  client.on('error', (error: Error) => (reason = error.message));
  client.on('close', () => {
    if (!isAway)
      log.warn(
        { reason },
        'each process counts alone, because Redis at RATE_LIMIT_REDIS_URL cannot be used: see "scripts/ces doctor"',
      );
    isAway = true;
    metrics?.limiterFallback.set(1);
  });
  client.on('ready', () => {
    if (isAway) log.info('Redis at RATE_LIMIT_REDIS_URL answers again; it counts for all servers');
    isAway = false;
    metrics?.limiterFallback.set(0);
  });
  await client.connect().catch(() => undefined);
  return client;
}
