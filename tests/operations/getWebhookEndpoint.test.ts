import { permissions } from '../../src/domain/access/permissions.js';
import { newClient, newClinic, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const endpoint = await newEndpoint(harness, partner, { types: ['order.paid', 'encounter.review_started'] });

const get = (id: string, { token } = partner): Promise<Answer> =>
  call(harness, `GET /webhook-endpoints/${id}`, { token });

describe('getWebhookEndpoint 200', () => {
  it('returns the endpoint with its status and last results', async () => {
    const { secret: _secret, ...shown } = endpoint;
    expect((await get(endpoint.id.toUpperCase())).body).toEqual(shown);
    const lastSuccessAt = new Date('2026-11-20T15:00:00.000Z');
    const lastFailureAt = new Date('2026-11-20T15:30:00.000Z');
    const data = { lastSuccessAt, lastFailureAt, status: 'disabled', disabledReason: 'gone' } as const;
    const { tenantId } = partner;
    await harness.domain.db.prisma.webhookEndpoint.updateMany({ where: { tenantId, id: endpoint.id }, data });
    const answer = await get(endpoint.id);
    expect([answer.status, answer.body]).toEqual([200, JSON.parse(JSON.stringify({ ...shown, ...data }))]);
  });
});

describe('getWebhookEndpoint 404', () => {
  it('answers 404 for endpoints of other clients to a client that is limited to clinics', async () => {
    const clinics = [await newClinic(harness, partner)];
    const limited = await newClient(harness, partner.tenantId, permissions, clinics);
    const own = await newEndpoint(harness, limited);
    expect((await get(own.id, limited)).status).toBe(200);
    expectProblem(await get(endpoint.id, limited), 404, 'webhook_endpoint_not_found');
  });
});
