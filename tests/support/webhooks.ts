import { randomBytes } from 'node:crypto';
import type { EventType } from '../../src/contract.js';
import { serveEndpoint, takeEndpoints } from '../../src/domain/webhooks/deliver.js';
import { makeDeliveries } from '../../src/domain/webhooks/fanOut.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';

export interface Endpoint {
  readonly id: string;
  /** As partners hold it, `whsec_…`. */
  readonly secret: string;
}

/** Registers a URL. */
export async function newEndpoint(
  harness: Harness,
  { tenantId, clientId }: Partner,
  url: string,
  types: readonly EventType[] = [],
): Promise<Endpoint> {
  const { db, newId } = harness.domain;
  const client = await db.apiClient.findUniqueOrThrow({ where: { clientId, tenantId } });
  const counter = await db.eventCounter.findUnique({ where: { tenantId } });
  const secret = randomBytes(32);
  const now = harness.clock.now;
  const id = newId();
  await db.webhookEndpoint.create({ data: { id, tenantId, apiClientId: client.id, url, types: types.map((one) => one.replace('.', '_')) as never, secret, fromPosition: counter?.position ?? 0n, createdAt: now, updatedAt: now } });
  await db.$executeRaw`INSERT INTO webhook_cursor VALUES (${tenantId}, ${counter?.position ?? 0n}) ON CONFLICT DO NOTHING`;
  return { id, secret: `whsec_${secret.toString('base64')}` };
}

/** Does what is due now, as the service does all the time: one batch of each endpoint. Returns how many it served. */
export async function deliverDue({ services }: Pick<Harness, 'services'>): Promise<number> {
  while (await makeDeliveries(services));
  const taken = await takeEndpoints(services, 100);
  await Promise.all(taken.map((endpoint) => serveEndpoint(services, endpoint)));
  return taken.length;
}

/** Until nothing is due. */
export async function deliverAll(harness: Pick<Harness, 'services'>): Promise<void> {
  while ((await deliverDue(harness)) > 0);
}

