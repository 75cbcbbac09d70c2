import { activateApiClient, deactivateApiClient } from '../../src/domain/access/apiClients.js';
import { newClient, newPartner, newToken, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const list = ({ token }: Partner, query = ''): Promise<Answer> =>
  call(harness, `GET /webhook-endpoints${query}`, { token });
const idsOf = ({ body }: Answer): string[] => body.data.map(({ id }: Answer['body']) => id);

describe('listWebhookEndpoints 200', () => {
  it('shows a client its own endpoints, and those of deactivated clients of the tenant', async () => {
    const colleague = await newClient(harness, partner.tenantId);
    const first = await newEndpoint(harness, partner);
    const second = await newEndpoint(harness, colleague);
    expect(idsOf(await list(partner))).toEqual([first.id]);
    expect(idsOf(await list(colleague))).toEqual([second.id]);
    await deactivateApiClient(harness.domain, colleague.clientId);
    expect(idsOf(await list(partner))).toEqual([first.id, second.id]);
    expect(idsOf(await list(await newPartner(harness)))).toEqual([]);
  });

  it.each([
    ['a change', 'PATCH', ''],
    ['a rotation of its secret', 'POST', '/rotate-secret'],
  ])('hides an endpoint from its reactivated client after %s by another client', async (_what, method, path) => {
    const colleague = await newClient(harness, partner.tenantId);
    const { id } = await newEndpoint(harness, colleague);
    await deactivateApiClient(harness.domain, colleague.clientId);
    const json = { url: 'https://hooks.example.com/other' };
    const changed = await call(harness, `${method} /webhook-endpoints/${id}${path}`, {
      token: partner.token,
      ...(method === 'PATCH' && { json }),
    });
    expect(changed.status).toBe(200);
    await activateApiClient(harness.domain, colleague.clientId);
    expect(idsOf(await list({ ...colleague, token: await newToken(harness, colleague) }))).not.toContain(id);
  });
});
