import { permissions } from '../../src/domain/access/permissions.js';
import { newClient, newClinic, newPartner, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const list = ({ token }: Partner, query = ''): Promise<Answer> =>
  call(harness, `GET /webhook-endpoints${query}`, { token });
const idsOf = ({ body }: Answer): string[] => body.data.map(({ id }: Answer['body']) => id);

describe('listWebhookEndpoints 200', () => {
  it('shows an unlimited client all endpoints of the tenant, and a client limited to clinics its own', async () => {
    const clinics = [await newClinic(harness, partner)];
    const limited = await newClient(harness, partner.tenantId, permissions, clinics);
    const first = await newEndpoint(harness, partner);
    const second = await newEndpoint(harness, limited);
    expect(idsOf(await list(partner))).toEqual([first.id, second.id]);
    expect(idsOf(await list(limited))).toEqual([second.id]);
    expect(idsOf(await list(await newPartner(harness)))).toEqual([]);
  });
});
