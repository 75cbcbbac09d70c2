import { newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';

const harness = await openHarness();
const partner = await newPartner(harness, 'sandbox');

const set = (json: object, { token } = partner): Promise<Answer> =>
  call(harness, 'PUT /sandbox/webhook-inbox/behavior', { token, json });
const stored = () => harness.domain.db.prisma.webhookInbox.findMany({ where: { tenantId: partner.tenantId } });

describe('setWebhookInboxBehavior 200', () => {
  it('stores the status and the delay of the tenant’s webhook inbox', async () => {
    for (const [json, delayMs] of [
      [{ status: 410, delayMs: 20_000 }, 20_000],
      [{ status: 500 }, 0],
    ] as const) {
      const { status, body } = await set(json);
      expect([status, body]).toEqual([200, { status: json.status, delayMs }]);
      expect(await stored()).toEqual([{ tenantId: partner.tenantId, status: json.status, delayMs }]);
    }
  });
});
