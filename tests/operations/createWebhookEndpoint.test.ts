import { newClient, newPartner, newPatient, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { hookUrl, newEndpoint } from '../support/webhooks.js';

const harness = await openHarness({ environment: { WEBHOOK_ALLOWED_HOSTS: '127.0.0.1:9999' } });
let partner: Partner;
beforeEach(async () => {
  partner = await newPartner(harness);
});
const create = (json: object, { token } = partner): Promise<Answer> =>
  call(harness, 'POST /webhook-endpoints', { token, json });
const count = (): Promise<number> =>
  harness.domain.db.prisma.webhookEndpoint.count({ where: { tenantId: partner.tenantId } });

describe('createWebhookEndpoint 201', () => {
  it('returns the stored secret, which later reads and the log do not show', async () => {
    const given = { url: hookUrl, types: ['order.paid'], description: 'Billing' };
    const { status, body, headers } = await create(given);
    const { id, secret, ...shown } = body;
    const at = harness.clock.now.toISOString();
    const results = { status: 'active', disabledReason: null, lastSuccessAt: null, lastFailureAt: null };
    expect([status, headers.get('Cache-Control')]).toEqual([201, 'no-store']);
    expect(shown).toEqual({ ...given, ...results, createdAt: at, updatedAt: at });
    const { tenantId, token } = partner;
    const stored = await harness.domain.db.prisma.webhookEndpoint.findFirstOrThrow({ where: { tenantId, id } });
    expect(secret).toBe(`whsec_${Buffer.from(stored.secret).toString('base64')}`);
    expect(stored.secret).toHaveLength(32);
    for (const target of ['GET /webhook-endpoints', `GET /webhook-endpoints/${id}`]) {
      expect((await call(harness, target, { token })).text).not.toContain('ecret');
    }
    expect(JSON.stringify(harness.logged)).not.toContain(secret);
  });

  it('starts a new endpoint after the latest event of the tenant', async () => {
    await newPatient(harness, partner);
    await newPatient(harness, partner);
    const { id } = await newEndpoint(harness, partner);
    await newPatient(harness, partner);
    const later = await newEndpoint(harness, partner);
    const { tenantId } = partner;
    const { db } = harness.domain;
    const rows = await db.prisma.webhookEndpoint.findMany({ where: { tenantId }, orderBy: { id: 'asc' } });
    expect(rows.map((row) => [row.id, row.fromPosition])).toEqual([
      [id, 2n],
      [later.id, 3n],
    ]);
    expect((await db.prisma.webhookCursor.findUniqueOrThrow({ where: { tenantId } })).position).toBe(2n);
  });

  it('accepts the URL of the inbox in a sandbox, and a host in WEBHOOK_ALLOWED_HOSTS', async () => {
    const sandbox = await newPartner(harness, 'sandbox');
    expect((await create({ url: `${harness.baseUrl}/sandbox/webhook-inbox` }, sandbox)).status).toBe(201);
    expect((await create({ url: 'http://127.0.0.1:9999/hook' })).status).toBe(201);
  });
});

describe('createWebhookEndpoint 400', () => {
  it('refuses URLs that are not public, the sandbox inbox in a live tenant, and its URL with a query in a sandbox', async () => {
    const urls = ['https://127.0.0.1/a', 'http://127.0.0.1:9998/hook', `${harness.baseUrl}/sandbox/webhook-inbox`];
    for (const url of urls) {
      const answer = await create({ url });
      expect([url, answer.body.code]).toEqual([url, 'webhook_url_forbidden']);
      expectProblem(answer, 400, 'webhook_url_forbidden', [{ pointer: '#/url' }]);
    }
    const sandbox = await newPartner(harness, 'sandbox');
    const beside = await create({ url: `${harness.baseUrl}/sandbox/webhook-inbox?x` }, sandbox);
    expectProblem(beside, 400, 'webhook_url_forbidden');
    expect(beside.body.detail).toMatch(/\/sandbox\/webhook-inbox .*listen/);
    expect(await count()).toBe(0);
  });
});

describe('createWebhookEndpoint 409', () => {
  it('limits an API client to five endpoints, even when requests race', async () => {
    const statuses = async (): Promise<number[]> => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => create({ url: hookUrl })));
      for (const answer of answers.filter(({ status }) => status !== 201)) {
        expectProblem(answer, 409, 'webhook_limit_reached');
      }
      return answers.map(({ status }) => status).sort();
    };
    await newEndpoint(harness, await newClient(harness, partner.tenantId));
    expect(await statuses()).toEqual([201, 201, 201, 201, 201, 409, 409, 409]);
  });
});
