import { newPartner, newPatient } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const { secret: _secret, ...shown } = await newEndpoint(harness, partner, { types: ['order.paid'], description: 'a' });
let endpoint: Answer['body'] = shown;

const update = (json: object, id: string = endpoint.id, headers = {}): Promise<Answer> =>
  call(harness, `PATCH /webhook-endpoints/${id}`, { token: partner.token, json, headers });
const stored = () =>
  harness.domain.db.prisma.webhookEndpoint.findFirstOrThrow({ where: { tenantId: partner.tenantId, id: endpoint.id } });

describe('updateWebhookEndpoint 200', () => {
  it('changes only the properties that are sent', async () => {
    harness.clock.advance(60);
    const at = { updatedAt: harness.clock.now.toISOString() };
    const url = 'https://other.northwind.example/hook';
    for (const [patch, expected] of [
      [{ url }, { url }],
      [{ types: ['order.created'] }, { types: ['order.created'] }],
      [{ types: null }, { types: [] }],
      [{ description: null }, { description: null }],
    ] as const) {
      endpoint = { ...endpoint, ...expected, ...at };
      const { status, body } = await update(patch);
      expect([status, body]).toEqual([200, endpoint]);
    }
  });

  it('restarts a re-enabled endpoint at the end of the feed, and keeps the position of an active one', async () => {
    const { fromPosition: start } = await stored();
    await newPatient(harness, partner);
    expect((await update({ status: 'active' })).body).toEqual(endpoint);
    expect((await stored()).fromPosition).toBe(start);
    const disabled = { status: 'disabled', disabledReason: 'partner' };
    expect((await update({ status: 'disabled' })).body).toMatchObject(disabled);
    const gone = { disabledReason: 'gone', failingSince: harness.clock.now } as const;
    const where = { tenantId: partner.tenantId };
    await harness.domain.db.prisma.webhookEndpoint.updateMany({ where, data: gone });
    // Disabling a disabled endpoint keeps its reason.
    expect((await update({ status: 'disabled' })).body).toMatchObject({ ...disabled, disabledReason: 'gone' });
    await newPatient(harness, partner);
    expect((await update({ status: 'active' })).body).toEqual(endpoint);
    expect(await stored()).toMatchObject({ fromPosition: start + 2n, failingSince: null });
  });
});

describe('updateWebhookEndpoint 400', () => {
  it('refuses forbidden URLs and malformed properties, and leaves the endpoint unchanged', async () => {
    const before = await stored();
    const forbidden = await update({ url: 'https://127.0.0.1/hook', description: 'b' });
    expectProblem(forbidden, 400, 'webhook_url_forbidden', [{ pointer: '#/url' }]);
    for (const json of [{ url: null }, { status: null }]) expectProblem(await update(json), 400, 'validation_failed');
    expectProblem(await update({ status: 'paused' }), 400, 'validation_failed', [{ pointer: '#/status' }]);
    expect(await stored()).toEqual(before);
  });
});
