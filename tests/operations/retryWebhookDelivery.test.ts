import { newPartner, newPatient } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { newWebhooks } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness);
await newPatient(harness, partner);
const made = await newWebhooks(harness, partner);

const retry = (delivery = made.delivery_id, endpoint = made.endpoint_id): Promise<Answer> =>
  call(harness, `POST /webhook-endpoints/${endpoint}/deliveries/${delivery}/retry`, { token: partner.token });

describe('retryWebhookDelivery 202', () => {
  it('makes a delivery of any status due now, and restarts its retry schedule', async () => {
    const { tenantId } = partner;
    const { db } = harness.domain;
    const where = { tenantId, id: made.delivery_id };
    const attempts = [{ at: harness.clock.now.toISOString(), httpStatus: 500, error: null, durationMs: 7 }];
    const later = new Date(harness.clock.now.getTime() + 86_400_000);
    for (const data of [
      { status: 'failed', nextAttemptAt: null },
      { status: 'delivered', nextAttemptAt: null },
      { status: 'waiting', nextAttemptAt: later },
    ] as const) {
      await db.prisma.webhookDelivery.updateMany({ where, data: { ...data, failures: 9, attempts } });
      const { status, body } = await retry();
      const now = harness.clock.now.toISOString();
      const about = { id: made.delivery_id, eventId: expect.any(String), eventType: 'patient.created' };
      const due = { status: 'waiting', createdAt: now, nextAttemptAt: now, attempts };
      expect([status, body]).toEqual([202, { ...about, ...due }]);
      expect((await db.prisma.webhookDelivery.findFirstOrThrow({ where })).failures).toBe(0);
    }
  });
});

describe('retryWebhookDelivery 404', () => {
  it('answers 404 for a delivery of another endpoint and for an unknown endpoint', async () => {
    expectProblem(await retry(made.delivery_id, made.spareEndpointId), 404, 'delivery_not_found');
    expectProblem(await retry(made.delivery_id, harness.domain.newId()), 404, 'webhook_endpoint_not_found');
  });
});
