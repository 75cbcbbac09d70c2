import { feedPage } from '../support/events.js';
import { newClient, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const ping = (id: string, { token } = partner): Promise<Answer> =>
  call(harness, `POST /webhook-endpoints/${id}/ping`, { token });

describe('pingWebhookEndpoint 202', () => {
  it('emits webhook.ping, which only the client of the endpoint sees', async () => {
    const colleague = await newClient(harness, partner.tenantId);
    const [ours, theirs] = [await newEndpoint(harness, partner), await newEndpoint(harness, colleague)];
    const answers = [await ping(ours.id), await ping(theirs.id, colleague)];
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    const [ofOurs, ofTheirs] = answers.map(({ body }, index) => ({
      id: body.eventId,
      type: 'webhook.ping',
      timestamp: harness.clock.now.toISOString(),
      data: { endpointId: [ours, theirs][index].id },
    }));
    expect((await feedPage(harness, partner)).data).toEqual([ofOurs]);
    expect((await feedPage(harness, colleague)).data).toEqual([ofTheirs]);
  });
});

describe('pingWebhookEndpoint 409', () => {
  it('says that the endpoint is disabled, and how to enable it', async () => {
    const { id } = await newEndpoint(harness, partner);
    await call(harness, `PATCH /webhook-endpoints/${id}`, { token: partner.token, json: { status: 'disabled' } });
    const refused = await ping(id);
    expectProblem(refused, 409, 'invalid_state');
    expect(refused.body.detail).toMatch(/^The endpoint is disabled\. .*PATCH \/webhook-endpoints\/\{endpoint_id\}/);
  });
});
