import { permissions } from '../../src/domain/access/permissions.js';
import { changeApiClient } from '../../src/domain/access/apiClients.js';
import { newClient, newClinic, newPartner, newToken, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness, 'sandbox');

const list = ({ token } = partner, query = ''): Promise<Answer> =>
  call(harness, `GET /sandbox/webhook-inbox${query}`, { token });

describe('listWebhookInbox 200', () => {
  it('lists the last 100 messages of the tenant, the newest first', async () => {
    const { db, newId } = harness.domain;
    const { tenantId } = partner;
    const row = { tenantId, status: 204, receivedAt: harness.clock.now };
    const messages = Array.from({ length: 101 }, (_, number) => {
      const ids = { id: newId(), endpointId: newId(), headers: { 'webhook-id': newId() } };
      return { ...ids, ...row, body: `{"number":${number}}` };
    });
    await db.prisma.webhookInboxMessage.createMany({ data: messages });
    const { status, body } = await list();
    const shown = messages.map(({ tenantId: _tenant, endpointId, receivedAt, ...message }) => {
      return { ...message, endpointId, receivedAt: receivedAt.toISOString() };
    });
    expect([status, body.data]).toEqual([200, shown.slice(1).toReversed()]);
    expect((await list(await newPartner(harness, 'sandbox'))).body).toEqual({ data: [] });
  });

  it('shows a client limited to clinics or pharmacies only messages to its own endpoints', async () => {
    const { db, newId } = harness.domain;
    const { tenantId } = partner;
    const clinicId = await newClinic(harness, partner);
    const limited = await newClient(harness, tenantId, permissions, [clinicId]);
    const pharmacy = await newClient(harness, tenantId);
    await changeApiClient(harness.domain, pharmacy.clientId, { pharmacies: [newId()] });
    Object.assign(pharmacy, { token: await newToken(harness, pharmacy) });
    const url = `${harness.baseUrl}/sandbox/webhook-inbox`;
    const clients = [limited, pharmacy, partner];
    const made = await Promise.all(clients.map((client) => newEndpoint(harness, client, { url })));
    const endpoints = made.map(({ id }) => id as string);
    const message = { tenantId, headers: {}, body: '{}', status: 204, receivedAt: harness.clock.now };
    const data = [...endpoints, newId()].map((endpointId) => ({ id: newId(), endpointId, ...message }));
    await db.prisma.webhookInboxMessage.createMany({ data });
    const seenBy = async (client: Partner): Promise<string[]> =>
      (await list(client)).body.data.map(({ endpointId: id }: { endpointId: string }) => id);
    expect(await seenBy(limited)).toEqual(endpoints.slice(0, 1));
    expect(await seenBy(pharmacy)).toEqual(endpoints.slice(1, 2));
    expect(await seenBy(partner)).toEqual(expect.arrayContaining(endpoints));
  });
});
