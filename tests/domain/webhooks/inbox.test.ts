import { recordPaid } from '../../support/events.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { verified } from '../../support/receiver.js';
import { newSandbox } from '../../support/sandbox.js';
import { deliverAll, newEndpoint } from '../../support/webhooks.js';

const harness = await openHarness();
// Signatures contain the real time.
harness.clock.now = new Date();

it('the sandbox inbox keeps at most a hundred webhooks as sent, and responds as setWebhookInboxBehavior says', async () => {
  const partner = await newSandbox(harness);
  const ask = async (target: string, json?: object): Promise<Answer['body']> =>
    (await call(harness, target, { token: partner.token, ...(json && { json }) })).body;
  const inbox = async (): Promise<Answer['body'][]> => (await ask('GET /sandbox/webhook-inbox')).data;
  const url = `${harness.baseUrl}/sandbox/webhook-inbox`;
  const { id, secret } = await newEndpoint(harness, partner, { url, types: ['order.paid'] });
  const before = await inbox();
  const deliver = async (orderNo: string, count = 1): Promise<void> => {
    await recordPaid(harness, { tenantId: partner.tenantId, clinicId: null }, orderNo, count);
    await deliverAll(harness);
  };
  await deliver('ORD-100001');
  const [message, ...others] = await inbox();
  expect(others).toEqual(before);
  expect(message).toMatchObject({ endpointId: id, status: 204 });
  expect(verified(message, secret)).toMatchObject({ type: 'order.paid', data: { order_no: 'ORD-100001' } });

  await deliver('ORD-100002', 110);
  expect(await inbox()).toHaveLength(100);

  await ask('PUT /sandbox/webhook-inbox/behavior', { status: 500, delayMs: 0 });
  await deliver('ORD-100003');
  const [{ attempts }] = (await ask(`GET /webhook-endpoints/${id}/deliveries?limit=1`)).data;
  expect(attempts).toMatchObject([{ httpStatus: 500 }]);
  await ask('PUT /sandbox/webhook-inbox/behavior', { status: 410, delayMs: 10 });
  await deliver('ORD-100004');
  expect(await ask(`GET /webhook-endpoints/${id}`)).toMatchObject({ status: 'disabled', disabledReason: 'gone' });
});
