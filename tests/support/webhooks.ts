import { serveEndpoint, takeEndpoints } from '../../src/domain/webhooks/deliver.js';
import { makeDeliveries } from '../../src/domain/webhooks/fanOut.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call } from './http.js';

export interface Endpoint {
  readonly id: string;
  /** As partners hold it, `whsec_…`. */
  readonly secret: string;
}

/** Registers a URL over HTTP; throws when it is refused. */
export async function newEndpoint(
  harness: Pick<Harness, 'baseUrl'>,
  { token }: Pick<Partner, 'token'>,
  url: string,
  types?: readonly string[],
): Promise<Endpoint> {
  const json = { url, ...(types && { types }) };
  const { status, body } = await call(harness, 'POST /webhook-endpoints', { token, json });
  if (status !== 201) throw new Error(`no endpoint: ${status} ${body.code}`);
  return body;
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

