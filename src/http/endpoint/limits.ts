import { setTimeout as delay } from 'node:timers/promises';
import type { LimitName, Limits, Usage } from '../../adapters/limits/limits.js';
import type { RequestLimits } from '../../context.js';
import { Problem } from '../../problem.js';
import { metrics } from '../../telemetry.js';
import { networkOf } from '../listener/callerAddress.js';
import type { Locals } from './route.js';

/** Milliseconds before a refusal is sent: a caller that retries at once would otherwise keep the process busy. */
export const REFUSAL_DELAY_MS = 100;

/**
 * These limits count by address, too: failed token requests, so that others cannot exhaust the client's quota, and
 * verifications of certificates, which need no client.
 */
const countedByAddress: ReadonlySet<LimitName> = new Set(['token-failures', 'certificates']);

/** The limits of one request. Stores the last usage in `locals`, for the response headers. */
export function limitsOf(limits: Limits | null, locals: Locals, addressOf: () => string | null): RequestLimits {
  const refuseIfExceeded = async (usage: Usage): Promise<void> => {
    locals.usage = usage;
    if (!usage.isExceeded) return;
    metrics?.limitHits.inc({ limit: usage.name });
    await delay(REFUSAL_DELAY_MS);
    throw new Problem('rate_limited');
  };
  const keyFor = (name: LimitName, key: string): string =>
    countedByAddress.has(name) ? `${key} ${networkOf(addressOf())}` : key;
  return {
    async count(name, key, ownQuota) {
      if (limits) await refuseIfExceeded(await limits.take(name, keyFor(name, key), ownQuota));
    },
    async check(name, key) {
      if (limits) await refuseIfExceeded(await limits.look(name, keyFor(name, key)));
    },
  };
}

/** The response headers about the limit that was counted or checked last; empty if there is none. */
export function limitHeaders({ usage }: Locals): Readonly<Record<string, string>> {
  if (!usage) return {};
  const { name, quota, windowSeconds, remaining, resetSeconds } = usage;
  return {
    'RateLimit-Policy': `"${name}";q=${quota};w=${windowSeconds}`,
    RateLimit: `"${name}";r=${remaining};t=${resetSeconds}`,
  };
}
