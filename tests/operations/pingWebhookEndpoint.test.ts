import { permissions } from '../../src/domain/access/permissions.js';
import { feedPage } from '../support/events.js';
import { newClient, newClinic, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectInvalidState } from '../support/invalidState.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const ping = (id: string, { token } = partner): Promise<Answer> =>
  call(harness, `POST /webhook-endpoints/${id}/ping`, { token });

describe('pingWebhookEndpoint 202', () => {
  it('emits webhook.ping, which a client limited to clinics sees for its own endpoint only', async () => {
    const clinics = [await newClinic(harness, partner)];
    const limited = await newClient(harness, partner.tenantId, permissions, clinics);
    const [ours, theirs] = [await newEndpoint(harness, partner), await newEndpoint(harness, limited)];
    const answers = [await ping(ours.id), await ping(theirs.id, limited)];
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    const [ofOurs, ofTheirs] = answers.map(({ body }, index) => ({
      id: body.event_id,
      type: 'webhook.ping',
      timestamp: harness.clock.now.toISOString(),
      data: { endpoint_id: [ours, theirs][index].id },
    }));
    expect((await feedPage(harness, partner)).data).toEqual([ofOurs, ofTheirs]);
    expect((await feedPage(harness, limited)).data).toEqual([ofTheirs]);
  });
});

describe('pingWebhookEndpoint 409', () => {
  it('refuses a disabled endpoint', async () => {
    const { id } = await newEndpoint(harness, partner);
    const json = { status: 'disabled' };
    await call(harness, `PATCH /webhook-endpoints/${id}`, { token: partner.token, json });
    expectInvalidState(await ping(id), 'disabled');
  });
});
