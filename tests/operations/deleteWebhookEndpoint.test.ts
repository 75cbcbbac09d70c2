import { newPartner, newPatient } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { newWebhooks } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const remove = (id: string): Promise<Answer> =>
  call(harness, `DELETE /webhook-endpoints/${id}`, { token: partner.token });

describe('deleteWebhookEndpoint 204', () => {
  it('deletes the endpoint with its deliveries, and keeps other endpoints', async () => {
    await newPatient(harness, partner);
    const { endpoint_id, spareEndpointId } = await newWebhooks(harness, partner);
    const { status, text } = await remove(endpoint_id);
    expect([status, text]).toEqual([204, '']);
    const where = { tenantId: partner.tenantId };
    const { db } = harness.domain;
    expect(await db.prisma.webhookDelivery.count({ where })).toBe(0);
    expect((await db.prisma.webhookEndpoint.findMany({ where })).map(({ id }) => id)).toEqual([spareEndpointId]);
    expectProblem(await remove(endpoint_id), 404, 'webhook_endpoint_not_found');
  });
});
