import { changeApiClient, deactivateApiClient } from '../../../src/domain/access/apiClients.js';
import type { Permission } from '../../../src/contract.js';
import { permissions } from '../../../src/domain/access/permissions.js';
import { newClient, newClinic, newEncounter, newPartner, newPatient } from '../../support/factories.js';
import { startHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { startReceiver, type Received } from '../../support/receiver.js';
import { deliverAll, newEndpoint } from '../../support/webhooks.js';

const failing = '/failing';
const receiver = await startReceiver(({ path }, response) => response.writeHead(path === failing ? 500 : 204).end());
const harness = await startHarness({ environment: { WEBHOOK_ALLOWED_HOSTS: receiver.host } });
afterAll(async () => {
  await receiver.close();
  await harness.close();
});

const partner = await newPartner(harness);
const at = (path: string): Received[] => receiver.received.filter((request) => request.path === path);

it('a webhook endpoint receives no event that its API client may not see, and none after the client loses its permission or is deactivated', async () => {
  const [own, other] = [await newClinic(harness, partner), await newClinic(harness, partner)];
  const limited = await newClient(harness, partner.tenantId, permissions, [own]);
  const path = '/limited';
  await newEndpoint(harness, limited, { url: receiver.url(path), types: ['encounter.created'] });
  const seen = await newEncounter(harness, partner, { clinicId: own });
  await newEncounter(harness, partner, { clinicId: other });
  await deliverAll(harness);
  expect(at(path).map(({ body }) => JSON.parse(body).data.encounter_id)).toEqual([seen.encounter_id]);
  const { clientId, tenantId } = limited;
  const grant = (granted: readonly Permission[]) =>
    harness.domain.db.prisma.apiClient.updateMany({
      where: { clientId, tenantId },
      data: { permissions: [...granted] },
    });
  for (const revoke of [() => grant(['read:event']), () => deactivateApiClient(harness.domain, clientId)]) {
    await grant(permissions);
    await newEncounter(harness, partner, { clinicId: own });
    await revoke();
    await newEncounter(harness, partner, { clinicId: own });
    await deliverAll(harness);
    expect(at(path)).toHaveLength(1);
  }
});

it('a webhook endpoint receives no earlier event that its new owner, or its client with a later limit, may not see', async () => {
  const clinic = await newClinic(harness, partner);
  const heir = await newClient(harness, partner.tenantId, permissions, [clinic]);
  const owner = await newClient(harness, partner.tenantId);
  const limited = await newClient(harness, partner.tenantId);
  const { id } = await newEndpoint(harness, owner, { url: receiver.url(failing) });
  const { id: limitedId } = await newEndpoint(harness, limited, { url: receiver.url('/later') });
  // A clinic-limited client sees the patients that it created.
  await newPatient(harness, owner);
  await deliverAll(harness);
  expect(at(failing)).toHaveLength(1);
  expect(at('/later')).toHaveLength(1);

  await deactivateApiClient(harness.domain, owner.clientId);
  await changeApiClient(harness.domain, limited.clientId, { clinics: [clinic] });
  harness.clock.advance(31);
  const change = { token: heir.token, json: { url: receiver.url('/taken') } };
  expect(await call(harness, `PATCH /webhook-endpoints/${id}`, change)).toMatchObject({ status: 200 });
  const retries = [
    [id, heir],
    [limitedId, limited],
  ] as const;
  for (const [endpoint, { token }] of retries) {
    const { body } = await call(harness, `GET /webhook-endpoints/${endpoint}/deliveries`, { token });
    const path = `POST /webhook-endpoints/${endpoint}/deliveries/${body.data[0].id}/retry`;
    expect(await call(harness, path, { token })).toMatchObject({ status: 202 });
  }
  await deliverAll(harness);
  expect(at('/taken')).toHaveLength(0);
  expect(at('/later')).toHaveLength(1);
  const { body } = await call(harness, `GET /webhook-endpoints/${id}/deliveries`, { token: heir.token });
  expect(body.data).toEqual([]);
});
