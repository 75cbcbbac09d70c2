import { openLimits } from '../../src/adapters/limits/openLimits.js';
import type { Quotas } from '../../src/config.js';
import type { Harness } from './harness.js';
import type { Answer } from './http.js';

/** Does the work while the service has these limits, and 1 for each other limit, all unused. */
export async function withLimits<T>(
  { services }: Harness,
  quotas: Partial<Quotas>,
  work: () => Promise<T>,
): Promise<T> {
  const { limits, log } = services;
  const all = { default: 1, burst: 1, uploads: 1, bulk: 1, token: 1, 'token-failures': 1, certificates: 1, ...quotas };
  Object.assign(services, { limits: await openLimits(all, null, log) });
  return work().finally(() => Object.assign(services, { limits }));
}

/** Sends two requests when every limit is one, the first of them with a mistake in its query. */
export function secondOfTwo(harness: Harness, send: (query: Record<string, string>) => Promise<Answer>) {
  return withLimits(harness, {}, () => send({ serch: 'northwind' }).then(() => send({})));
}
