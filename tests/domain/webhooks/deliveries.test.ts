import type { ServerResponse } from 'node:http';
import { webhookBacklog } from '../../../src/domain/webhooks/backlog.js';
import { takeEndpoints } from '../../../src/domain/webhooks/deliver.js';
import { makeDeliveries } from '../../../src/domain/webhooks/fanOut.js';
import { startDeliveries } from '../../../src/jobs/deliveries.js';
import { feedPage, recordPaid } from '../../support/events.js';
import { newPartner, newPatient, newToken, type Partner } from '../../support/factories.js';
import { startHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { startReceiver, verified, type Received } from '../../support/receiver.js';
import { setClock } from '../../support/sandbox.js';
import { withSql } from '../../support/sqlFaults.js';
import { deliverAll, deliverDue, newEndpoint } from '../../support/webhooks.js';

let partner: Partner;
/** The response status of a path; 204 by default. */
const statuses = new Map<string, number>();
const HANGS = 0;
const hanging: ServerResponse[] = [];
const receiver = await startReceiver(({ path }, response) => {
  const status = statuses.get(path) ?? 204;
  if (status === HANGS) hanging.push(response);
  else response.writeHead(status).end();
});
const harness = await startHarness({ environment: { WEBHOOK_ALLOWED_HOSTS: receiver.host } });
beforeEach(async () => {
  // Signatures contain the real time.
  harness.clock.now = new Date();
  statuses.clear();
  partner = await newPartner(harness);
});
afterAll(async () => {
  await receiver.close();
  await harness.close();
});

let paths = 0;
const newPath = (): string => `/hooks/${(paths += 1)}`;
/** An endpoint of the partner at this path. */
const endpointAt = (path: string, changes: object = {}, owner = partner): Promise<Answer['body']> =>
  newEndpoint(harness, owner, { url: receiver.url(path), ...changes });
const advanceAndDeliver = (seconds: number): Promise<void> => {
  harness.clock.advance(seconds);
  return deliverAll(harness);
};
const at = (path: string): Received[] => receiver.received.filter((request) => request.path === path);
const idsAt = (path: string): unknown[] => at(path).map(({ headers }) => headers['webhook-id']);
const pay = (count = 1, { tenantId } = partner): Promise<void> =>
  recordPaid(harness, { tenantId, clinicId: null }, 'ORD-101000', count);
const payAndDeliver = async (seconds = 0): Promise<void> => {
  await pay();
  await advanceAndDeliver(seconds);
};
/** Reads with a new token, because tests advance the clock by days. */
const read = async ({ id }: { readonly id: string }, list = ''): Promise<Answer['body']> =>
  (await call(harness, `GET /webhook-endpoints/${id}${list}`, { token: await newToken(harness, partner) })).body;
const DAY = 24 * 3600;

describe('a webhook endpoint', () => {
  it('receives each later event of its types once, as the feed shows it, signed with its secret', async () => {
    await pay();
    const [all, paid] = [newPath(), newPath()];
    const { secret } = await endpointAt(all);
    await endpointAt(paid, { types: ['order.paid'] });
    const before = (await feedPage(harness, partner)).next_cursor;
    await pay(2);
    await newPatient(harness, partner);
    await pay(20);
    await deliverAll(harness);
    await deliverAll(harness);

    const { data } = await feedPage(harness, partner, { cursor: before, limit: 100 });
    const idsOf = (events: typeof data) => events.map(({ id }) => id).sort();
    expect(idsAt(all).sort()).toEqual(idsOf(data));
    expect(idsAt(paid).sort()).toEqual(idsOf(data.filter(({ type }) => type === 'order.paid')));
    for (const webhook of at(all)) {
      const { id, ...event } = data.find((candidate) => candidate.id === webhook.headers['webhook-id']) ?? {};
      expect(webhook.body).toBe(JSON.stringify(event));
      expect(verified(webhook, secret)).toEqual(event);
      expect(webhook.headers['content-type']).toBe('application/json');
      expect(id).toBeDefined();
    }
  });

  it('receives ten attempts with one webhook-id, none later than the schedule allows, before the delivery fails', async () => {
    const path = newPath();
    statuses.set(path, 500);
    const endpoint = await endpointAt(path);
    await pay();
    const longest = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map((seconds) => 1.2 * seconds);
    for (const seconds of [0, ...longest]) {
      await advanceAndDeliver(seconds * 0.6);
      await advanceAndDeliver(seconds * 0.4);
    }
    const [delivery] = (await read(endpoint, '/deliveries')).data;
    expect(delivery).toMatchObject({ status: 'failed', nextAttemptAt: null });
    expect(delivery.attempts).toHaveLength(10);
    expect(delivery.attempts[0]).toMatchObject({ httpStatus: 500, error: null });
    expect(new Set(idsAt(path)).size).toBe(1);
    expect(at(path)).toHaveLength(10);
  });

  it('has its next attempt due immediately after retryWebhookDelivery, even if an attempt in progress fails meanwhile', async () => {
    const { id } = await endpointAt(newPath());
    await pay();
    await makeDeliveries(harness.services);
    const [delivery] = (await read({ id }, '/deliveries')).data;
    const retry = `POST /webhook-endpoints/${id}/deliveries/${delivery.id}/retry`;
    const sendWebhook = async () => {
      harness.clock.advance(1);
      expect((await call(harness, retry, { token: partner.token })).status).toBe(202);
      return { status: 500, retryAfter: null };
    };
    expect(await deliverDue({ services: { ...harness.services, sendWebhook } })).toBeGreaterThan(0);
    const now = harness.clock.now.toISOString();
    const [retried] = (await read({ id }, '/deliveries')).data;
    expect(retried).toMatchObject({ status: 'waiting', nextAttemptAt: now, attempts: [{ httpStatus: 500 }] });
  });

  it('keeps no outcome of an attempt to its earlier URL', async () => {
    const { id } = await endpointAt(newPath());
    await pay();
    await makeDeliveries(harness.services);
    const change = { token: partner.token, json: { url: receiver.url(newPath()) } };
    const sendWebhook = async () => {
      expect((await call(harness, `PATCH /webhook-endpoints/${id}`, change)).status).toBe(200);
      return { status: 410, retryAfter: null };
    };
    await deliverDue({ services: { ...harness.services, sendWebhook } });
    expect(await read({ id })).toMatchObject({ status: 'active', lastFailureAt: null });
  });

  it('is disabled immediately by a 410 response, and after five days without a successful delivery', async () => {
    const [gone, dead] = [newPath(), newPath()];
    statuses.set(gone, 410).set(dead, 404);
    const endpoints = [await endpointAt(gone), await endpointAt(dead)] as const;
    const noticePath = newPath();
    await endpointAt(noticePath, { types: ['webhook.disabled'] });
    await payAndDeliver();
    expect(await read(endpoints[0])).toMatchObject({ status: 'disabled', disabledReason: 'gone' });
    expect(await read(endpoints[1])).toMatchObject({ status: 'active', disabledReason: null });
    for (let day = 0; day < 5; day += 1) {
      await payAndDeliver(DAY);
    }
    expect(await read(endpoints[1])).toMatchObject({ status: 'disabled', disabledReason: 'no_success' });
    expect(at(gone)).toHaveLength(1);
    const notices = at(noticePath).map(({ body }) => JSON.parse(body).data);
    expect(notices).toEqual([
      { endpointId: endpoints[0].id, reason: 'gone' },
      { endpointId: endpoints[1].id, reason: 'no_success' },
    ]);
    const count = at(dead).length;
    await payAndDeliver();
    expect(at(dead)).toHaveLength(count);
  });

  it('receives signatures with both secrets for a day after a rotation', async () => {
    const path = newPath();
    const { id, secret } = await endpointAt(path);
    const rotated = await call(harness, `POST /webhook-endpoints/${id}/rotate-secret`, { token: partner.token });
    await payAndDeliver();
    const [both] = at(path);
    for (const known of [secret, rotated.body.secret]) expect(verified(both as Received, known)).toBeDefined();
    await payAndDeliver(DAY + 1);
    expect(at(path)[1]?.headers['webhook-signature']).not.toContain(' ');
  });

  it('receives the next attempt in a sandbox when the sandbox clock moves', async () => {
    const sandbox = await newPartner(harness, 'sandbox');
    const path = newPath();
    statuses.set(path, 503);
    await endpointAt(path, {}, sandbox);
    await pay(1, sandbox);
    await deliverAll(harness);
    await deliverAll(harness);
    expect(at(path)).toHaveLength(1);
    expect((await setClock(harness, sandbox, 60)).status).toBe(200);
    await deliverAll(harness);
    expect(at(path)).toHaveLength(2);
    const [first, second] = at(path).map(({ headers }) => headers['webhook-timestamp']);
    expect(second).toBe(first);
  });
});

it('a database error in one tenant does not stop the webhooks of others', async () => {
  const other = await newPartner(harness);
  const path = newPath();
  for (const tenant of [partner, other]) await endpointAt(path, {}, tenant);
  const cases = ['webhook_delivery', 'webhook_endpoint'].flatMap((table) => [
    { table, faulty: partner, sound: other },
    { table, faulty: other, sound: partner },
  ]);
  for (const { table, faulty, sound } of cases) {
    const count = at(path).length;
    await withSql(
      harness,
      `ALTER TABLE ${table} ADD CONSTRAINT cancel CHECK (tenant_id <> '${faulty.tenantId}') NOT VALID`,
      `ALTER TABLE ${table} DROP CONSTRAINT cancel`,
      async () => {
        await pay(1, faulty);
        await pay(1, sound);
        await deliverAll(harness);
      },
    );
    expect(at(path)).toHaveLength(count + 1);
    await deliverAll(harness);
    expect(at(path)).toHaveLength(count + 2);
  }
});

it('takeEndpoints takes an endpoint of each of two tenants with due deliveries, although one tenant has three', async () => {
  const other = await newPartner(harness);
  for (const owner of [partner, partner, partner, other]) await endpointAt(newPath(), {}, owner);
  await pay();
  await pay(1, other);
  await makeDeliveries(harness.services);
  const taken = await takeEndpoints(harness.services, 2);
  expect(taken.map(({ tenantId }) => tenantId).sort()).toEqual([partner.tenantId, other.tenantId].sort());
});

describe('several processes', () => {
  it('do not serve one endpoint simultaneously, and take it over when a lease of at most 30 seconds has ended', async () => {
    const path = newPath();
    const { id } = await endpointAt(path);
    await pay(5);
    const { services, domain } = harness;
    expect((await webhookBacklog(domain.db)).behind).toBe(5);
    await makeDeliveries(services);
    const backlog = await webhookBacklog(domain.db);
    expect(backlog).toEqual({ behind: 0, waiting: expect.any(Number), oldestSeconds: expect.any(Number) });
    expect(backlog.waiting).toBeGreaterThanOrEqual(5);
    const take = async (): Promise<boolean> => (await takeEndpoints(services, 100)).some((taken) => taken.id === id);
    expect([await take(), await take()]).toEqual([true, false]);
    await deliverAll(harness);
    expect(at(path)).toEqual([]);
    const [{ seconds } = { seconds: 0 }] = await domain.db.prisma.$queryRaw<{ seconds: number }[]>`
      SELECT extract(epoch FROM busy_until - now())::float AS seconds FROM webhook_endpoint WHERE id = ${id}::uuid`;
    expect(seconds).toBeLessThanOrEqual(30);
    await domain.db.prisma.$executeRaw`UPDATE webhook_endpoint SET busy_until = ${new Date(0)} WHERE id = ${id}::uuid`;
    await deliverAll(harness);
    expect(at(path)).toHaveLength(5);
  });

  it('send every event once, and a hanging receiver does not delay others', async () => {
    const [fast, slow] = [newPath(), newPath()];
    statuses.set(slow, HANGS);
    await endpointAt(fast);
    await endpointAt(slow);
    const running = [startDeliveries(harness.services), startDeliveries(harness.services)];
    try {
      await pay(100);
      await receiver.arrived(fast, 100);
      expect(hanging.length).toBeGreaterThan(0);
      expect(hanging.every(({ writableEnded }) => !writableEnded)).toBe(true);
    } finally {
      statuses.clear();
      for (const response of hanging.splice(0)) response.writeHead(204).end();
      await Promise.all(running.map((deliveries) => deliveries.stop(20_000)));
    }
    expect(new Set(idsAt(fast)).size).toBe(100);
    expect(at(fast)).toHaveLength(100);
  });
});
