import { deactivateApiClient } from '../../src/domain/access/apiClients.js';
import { newClient, newPartner, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const list = ({ token }: Partner): Promise<Answer> => call(harness, 'GET /webhook-endpoints', { token });
const idsOf = ({ body }: Answer): string[] => body.data.map(({ id }: Answer['body']) => id);

describe('listWebhookEndpoints 200', () => {
  it('shows a client only its own endpoints', async () => {
    const colleague = await newClient(harness, partner.tenantId);
    const first = await newEndpoint(harness, partner);
    const second = await newEndpoint(harness, colleague);
    expect(idsOf(await list(partner))).toEqual([first.id]);
    expect(idsOf(await list(colleague))).toEqual([second.id]);
    expect(idsOf(await list(await newPartner(harness)))).toEqual([]);
  });

  it('keeps the endpoint of a deactivated client unchanged and hidden from other clients', async () => {
    const colleague = await newClient(harness, partner.tenantId);
    const { id } = await newEndpoint(harness, colleague);
    await deactivateApiClient(harness.domain, colleague.clientId);
    const stored = () =>
      harness.domain.db.prisma.webhookEndpoint.findMany({ where: { tenantId: partner.tenantId, id } });
    const before = await stored();
    expect(idsOf(await list(partner))).not.toContain(id);
    const json = { url: 'https://hooks.example.com/other' };
    const token = partner.token;
    for (const [target, body] of [
      [`GET /webhook-endpoints/${id}`, {}],
      [`PATCH /webhook-endpoints/${id}`, { json }],
      [`DELETE /webhook-endpoints/${id}`, {}],
      [`POST /webhook-endpoints/${id}/rotate-secret`, {}],
      [`POST /webhook-endpoints/${id}/ping`, {}],
      [`GET /webhook-endpoints/${id}/deliveries`, {}],
    ] as const) {
      expectProblem(await call(harness, target, { token, ...body }), 404, 'webhook_endpoint_not_found');
    }
    expect(await stored()).toEqual(before);
  });
});
