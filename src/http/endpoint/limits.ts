import { setTimeout as delay } from 'node:timers/promises';
import type { LimitName, Limits, Usage } from '../../adapters/limits/limits.js';
import type { RequestLimits } from '../../context.js';
import { Problem } from '../../problem.js';
import { metrics } from '../../telemetry.js';
import { networkOf } from '../listener/callerAddress.js';
import type { Locals } from './route.js';

/** A caller who sends again at once would keep the process busy with refusals. */
export const REFUSAL_DELAY_MS = 100;

/** The limits as one request meets them; what is left is noted for its response. */
export function limitsOf(limits: Limits | null, locals: Locals, addressOf: () => string | null): RequestLimits {
  const refuseIfExceeded = async (usage: Usage): Promise<void> => {
    locals.usage = usage;
    if (!usage.isExceeded) return;
    metrics?.limitHits.inc({ limit: usage.name });
    await delay(REFUSAL_DELAY_MS);
    throw new Problem('rate_limited');
  };
  // Failures count by client and address: others must not use up what the client itself may do.
  const keyFor = (name: LimitName, key: string): string =>
    name === 'token-failures' ? `${key} ${networkOf(addressOf())}` : key;
  return {
    async count(name, key, ownQuota) {
      if (limits) await refuseIfExceeded(await limits.take(name, keyFor(name, key), ownQuota));
    },
    async check(name, key) {
      if (limits) await refuseIfExceeded(await limits.look(name, keyFor(name, key)));
    },
  };
}

/** What a response says about the limit that its request counted against; nothing if there was none. */
export function limitHeaders({ usage }: Locals): Readonly<Record<string, string>> {
  if (!usage) return {};
  const { name, quota, windowSeconds, remaining, resetSeconds } = usage;
  return {
    'RateLimit-Policy': `"${name}";q=${quota};w=${windowSeconds}`,
    RateLimit: `"${name}";r=${remaining};t=${resetSeconds}`,
  };
}
