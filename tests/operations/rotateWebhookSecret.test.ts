import { newSandbox, setClock } from '../support/sandbox.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newSandbox(harness);

const rotate = (id: string): Promise<Answer> =>
  call(harness, `POST /webhook-endpoints/${id}/rotate-secret`, { token: partner.token });

describe('rotateWebhookSecret 200', () => {
  it('creates a new secret, and sets previousSecretUntil to a day later in the tenant’s time', async () => {
    const { id, secret: first } = await newEndpoint(harness, partner);
    await setClock(harness, partner, 3600);
    let before = first;
    for (let turn = 0; turn < 2; turn += 1) {
      const { status, body } = await rotate(id);
      expect(status).toBe(200);
      expect(body.previousSecretUntil).toBe(new Date(harness.clock.now.getTime() + 25 * 3_600_000).toISOString());
      expect(body.secret).not.toBe(before);
      const where = { tenantId: partner.tenantId, id };
      const stored = await harness.domain.db.prisma.webhookEndpoint.findFirstOrThrow({ where });
      const texts = [stored.secret, stored.previousSecret ?? []].map(
        (bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`,
      );
      expect(texts).toEqual([body.secret, before]);
      expect(stored.previousSecretUntil?.toISOString()).toBe(body.previousSecretUntil);
      before = body.secret;
    }
  });
});
