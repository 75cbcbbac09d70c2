import { serveEndpoint, takeEndpoints } from '../../src/domain/webhooks/deliver.js';
import { makeDeliveries } from '../../src/domain/webhooks/fanOut.js';
import { responseExamples } from './contract.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer, type Caller, type Server } from './http.js';

/** No server listens at this URL. */
export const hookUrl = 'https://hooks.northwind.example/all';

/** POST /webhook-endpoints */
export async function newEndpoint(server: Server, { token }: Caller, changes: object = {}): Promise<Answer['body']> {
  const json = { url: hookUrl, ...changes };
  const { status, body } = await call(server, 'POST /webhook-endpoints', { token, json });
  if (status !== 201)
    throw new Error(
      `POST /webhook-endpoints answered ${status}, not 201: read a refusal by call(): ${JSON.stringify(body)}`,
    );
  return body;
}

/** Creates up to `most` endpoints, as far as the limit allows. */
export async function newEndpoints(harness: Harness, { token }: Partner, most: number): Promise<void> {
  for (let count = 0; count < most; count += 1) {
    await call(harness, 'POST /webhook-endpoints', { token, json: { url: hookUrl } });
  }
}

/** Creates two endpoints, one with a delivery of each event so far. */
export async function newWebhooks(harness: Harness, partner: Partner) {
  const { token } = partner;
  const [{ id }, spare] = [await newEndpoint(harness, partner), await newEndpoint(harness, partner)];
  const json = { after: '2026-01-01T00:00:00Z' };
  await call(harness, `POST /webhook-endpoints/${id}/replay`, { token, json });
  const { body } = await call(harness, `GET /webhook-endpoints/${id}/deliveries`, { token });
  return { endpoint_id: id, spareEndpointId: spare.id, delivery_id: body.data[0].id };
}

/** Stores the message of the contract's example in the inbox of the sandbox. */
export async function receiveExample(harness: Harness, { tenantId }: Partner): Promise<void> {
  const example = responseExamples.find(
    ({ operationId, name }) => operationId === 'listWebhookInbox' && name === 'some',
  );
  const { data } = (example?.value ?? {}) as Answer['body'];
  await harness.domain.db.prisma.webhookInboxMessage.create({ data: { ...data[0], tenantId } });
}

/** Delivers one batch of each endpoint that is due, as the service does; returns the number of endpoints. */
export async function deliverDue({ services }: Pick<Harness, 'services'>): Promise<number> {
  while (await makeDeliveries(services));
  const taken = await takeEndpoints(services, 100);
  await Promise.all(taken.map((endpoint) => serveEndpoint(services, endpoint)));
  return taken.length;
}

/** Repeats {@link deliverDue} until no endpoint is due. */
export async function deliverAll(harness: Pick<Harness, 'services'>): Promise<void> {
  while ((await deliverDue(harness)) > 0);
}
