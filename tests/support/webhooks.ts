import { responseExamples } from './contract.js';
import type { Partner } from './factories.js';
import type { Harness } from './harness.js';
import { call, type Answer } from './http.js';

/** Where nothing listens. */
export const hookUrl = 'https://hooks.northwind.example/all';

/** POST /webhook-endpoints */
export async function newEndpoint(harness: Harness, { token }: Partner, changes: object = {}): Promise<Answer['body']> {
  const { status, body } = await call(harness, 'POST /webhook-endpoints', {
    token,
    json: { url: hookUrl, ...changes },
  });
  if (status !== 201) throw new Error(`no endpoint: ${body.code}`);
  return body;
}

/** As many as are possible, but not more than so many. */
export async function newEndpoints(harness: Harness, { token }: Partner, most: number): Promise<void> {
  for (let count = 0; count < most; count += 1) {
    await call(harness, 'POST /webhook-endpoints', { token, json: { url: hookUrl } });
  }
}

/** Two endpoints, one with a delivery of each event that there is. */
export async function newWebhooks(harness: Harness, partner: Partner) {
  const { token } = partner;
  const [{ id }, spare] = [await newEndpoint(harness, partner), await newEndpoint(harness, partner)];
  const json = { after: '2026-01-01T00:00:00Z' };
  await call(harness, `POST /webhook-endpoints/${id}/replay`, { token, json });
  const { body } = await call(harness, `GET /webhook-endpoints/${id}/deliveries`, { token });
  return { endpoint_id: id, spareEndpointId: spare.id, delivery_id: body.data[0].id };
}

/** How tests/contract/isolation.test.ts asks about what {@link newWebhooks} makes. */
export const webhookProbes = {
  getWebhookEndpoint: { request: () => ({}), inputs: { endpoint_id: 'endpoint_id' } },
  updateWebhookEndpoint: { request: () => ({ description: 'x' }), inputs: { endpoint_id: 'endpoint_id' } },
  deleteWebhookEndpoint: { request: () => ({}), inputs: { endpoint_id: 'spareEndpointId' } },
  rotateWebhookSecret: { request: () => ({}), inputs: { endpoint_id: 'endpoint_id' } },
  pingWebhookEndpoint: { request: () => ({}), inputs: { endpoint_id: 'endpoint_id' } },
  replayWebhookEvents: {
    request: () => ({ after: '2026-01-01T00:00:00Z' }),
    inputs: { endpoint_id: 'endpoint_id' },
  },
  listWebhookDeliveries: {
    request: () => ({ status: undefined, cursor: undefined }),
    inputs: { endpoint_id: 'endpoint_id' },
  },
  retryWebhookDelivery: {
    request: ({ endpoint_id, delivery_id }: { endpoint_id: string; delivery_id: string }) => ({
      endpoint_id,
      delivery_id,
    }),
    inputs: { endpoint_id: 'endpoint_id', delivery_id: 'delivery_id' },
  },
} as const;

/** The receiver of the sandbox gets the message that the contract shows. */
export async function receiveExample(harness: Harness, { tenantId }: Partner): Promise<void> {
  const example = responseExamples.find(
    ({ operationId, name }) => operationId === 'listWebhookInbox' && name === 'some',
  );
  const { data } = example?.value as Answer['body'];
  const { endpoint_id: endpointId, received_at: receivedAt, ...same } = data[0];
  await harness.domain.db.webhookInboxMessage.create({ data: { ...same, endpointId, receivedAt, tenantId } });
}

/** Where {@link webhookChanges} are sent, by whom, and about what. */
type Stage = { harness: Harness; partner: Partner } & Awaited<ReturnType<typeof newWebhooks>>;

/** A request that succeeds for each operation on webhooks that changes something and takes no key. */
export function webhookChanges(stage: () => Promise<Stage>): Record<string, () => Promise<Answer>> {
  const send = (targetOf: (stage: Stage) => string, json?: object) => async () => {
    const made = await stage();
    const { harness, partner } = made;
    const { token, tenantId } = partner;
    const answer = await call(harness, targetOf(made), { token, ...(json && { json }) });
    // Five are possible.
    await harness.domain.db.webhookEndpoint.deleteMany({ where: { tenantId } });
    return answer;
  };
  const path = ({ endpoint_id }: Stage): string => `/webhook-endpoints/${endpoint_id}`;
  return {
    updateWebhookEndpoint: send((made) => `PATCH ${path(made)}`, { description: 'x' }),
    rotateWebhookSecret: send((made) => `POST ${path(made)}/rotate-secret`),
    pingWebhookEndpoint: send((made) => `POST ${path(made)}/ping`),
    replayWebhookEvents: send((made) => `POST ${path(made)}/replay`, { after: '2026-01-01T00:00:00Z' }),
    retryWebhookDelivery: send((made) => `POST ${path(made)}/deliveries/${made.delivery_id}/retry`),
    deleteWebhookEndpoint: send((made) => `DELETE ${path(made)}`),
    setWebhookInboxBehavior: send(() => 'PUT /sandbox/webhook-inbox/behavior', { status: 500 }),
  };
}
