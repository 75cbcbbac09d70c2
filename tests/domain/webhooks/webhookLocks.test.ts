import { Prisma } from '../../../generated/prisma/client.js';
import { makeDeliveries } from '../../../src/domain/webhooks/fanOut.js';
import { purgeEvents } from '../../../src/domain/sweeps/purges.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { whileBlocked } from '../../support/lockWaits.js';
import { newSandbox, reset } from '../../support/sandbox.js';
import { newEndpoint } from '../../support/webhooks.js';

const harness = await openHarness();
const partner = await newSandbox(harness);

const remove = (id: string) => call(harness, `DELETE /webhook-endpoints/${id}`, { token: partner.token });

/** An endpoint that sends to the sandbox inbox, with eight deliveries that are due. */
async function newDeliveries(): Promise<string> {
  const { id } = await newEndpoint(harness, partner, { url: `${harness.baseUrl}/sandbox/webhook-inbox` });
  for (let count = 0; count < 8; count += 1) {
    await call(harness, `POST /webhook-endpoints/${id}/ping`, { token: partner.token });
  }
  while (await makeDeliveries(harness.services));
  return id;
}

it.each<[string, (id: string) => Promise<unknown>]>([
  ['resetSandbox', () => reset(harness, partner)],
  ['deleteWebhookEndpoint', remove],
  ['purgeEvents', () => purgeEvents(harness.services)],
])('%s locks an endpoint before its deliveries', async (_name, work) => {
  const { tenantId } = partner;
  const id = await newDeliveries();
  await harness.domain.db.prisma.$executeRaw`
    UPDATE event SET recorded_at = now() - interval '31 days' WHERE tenant_id = ${tenantId}`;
  await whileBlocked(
    harness,
    Prisma.sql`SELECT FROM webhook_endpoint WHERE tenant_id = ${tenantId} AND id = ${id}::uuid FOR NO KEY UPDATE`,
    () => work(id),
    async () => {
      const free = await harness.domain.db.prisma.$queryRaw<object[]>`
        SELECT FROM webhook_delivery WHERE tenant_id = ${tenantId} AND endpoint_id = ${id}::uuid FOR UPDATE SKIP LOCKED`;
      expect(free).toHaveLength(8);
    },
  );
  await remove(id);
});
