import { setTimeout as delay } from 'node:timers/promises';
import type { Case } from './auditor.js';
import type { Tenant } from './tenants.js';
import { isAnswer, success, type Client, type Json } from './history.js';
import { hookOf, perform } from './load.js';
import { randomOf } from './random.js';
import { recordEvents, type FeedEvent } from './records.js';
import type { Scene } from './scene.js';
import type { World } from './world.js';

/** How long webhooks may take to arrive after the load, with the retries that the auditor asks for. */
const ARRIVAL_MS = 120_000;

/** Reads the final state of a tenant, its feed and its audit, and waits for its webhooks. */
export async function collect(world: World, { tenant, encounters, orders, patients, documents }: Scene): Promise<Case> {
  const [reader] = tenant.clients;
  if (!reader)
    throw new Error(`Tenant ${tenant.id} has no client that could read its records: see tests/lab/tenants.ts`);
  const get = (operation: string, path: string, about = {}): Promise<Json> =>
    read(world, reader, operation, path, about);
  // If the response to a review was lost and no client has read the encounter since, only this shows its order.
  const ordered = new Set(orders.keys());
  for (const encounter of encounters.keys()) {
    const { order_no } = await get('getEncounter', `/encounters/${encounter}`, { encounter });
    if (order_no !== null) ordered.add(order_no);
  }
  for (const order of ordered) await get('getOrder', `/orders/${order}`, { order });
  for (const patient of patients.keys()) await get('getPatient', `/clients/${patient}`, { patient });
  for (const document of documents.keys()) await get('getDocument', `/documents/${document}`, { document });
  const intents = world.history.intents.filter(({ client }) => client.tenant === tenant.id);
  const feed = await everyPage((after) => get('feed', `/events?limit=100${after}`));
  const received = await arrivals(world, tenant, reader, recordEvents(feed));
  const told = await everyPage((after) => get('feed', `/events?limit=100${after}`));
  await world.verifyAudit();
  const rows = await everyPage((after) => get('audit', `/audit-events?limit=100${after}`));
  const requestIds = new Set(world.history.intents.flatMap(({ attempts }) => attempts.map((each) => each.requestId)));
  const isClockMoving = tenant.mode === 'sandbox' || world.hadOtherClock();
  return { tenant, intents, feed, told, rows, requestIds, received, isClockMoving };
}

async function arrivals(
  world: World,
  tenant: Tenant,
  reader: Client,
  expected: readonly FeedEvent[],
): Promise<Case['received']> {
  const path = hookOf(tenant.id);
  const own = () => world.accepted.filter((webhook) => webhook.path === path);
  const isComplete = (): boolean => {
    const arrived = new Set(own().map(({ headers }) => headers['webhook-id']));
    return expected.every(({ id }) => arrived.has(id));
  };
  const endpoints = await read(world, reader, 'endpoints', '/webhook-endpoints');
  const id = endpoints.data.find(({ url }: Json) => url.endsWith(path))?.id;
  for (const end = Date.now() + ARRIVAL_MS; !isComplete() && Date.now() < end; await delay(300)) {
    // The next attempt of the service may be minutes later.
    for (const status of ['waiting', 'failed']) {
      const late = await read(
        world,
        reader,
        'deliveries',
        `/webhook-endpoints/${id}/deliveries?status=${status}&limit=100`,
      );
      for (const { id: delivery, attempts, nextAttemptAt } of late.data) {
        // A server whose clock is ahead makes deliveries that are due later for the others.
        if (attempts.length === 0 && Date.parse(nextAttemptAt) <= Date.now()) continue;
        const target = `/webhook-endpoints/${id}/deliveries/${delivery}/retry`;
        await perform(world, randomOf(1), reader, { operation: 'retryWebhookDelivery', method: 'POST', path: target });
      }
    }
  }
  return own().map(({ headers, body }) => ({ id: String(headers['webhook-id']), body: JSON.parse(body) }));
}

async function everyPage(read: (after: string) => Promise<Json>): Promise<Json[]> {
  const all: Json[] = [];
  for (let after = '', hasMore = true; hasMore;) {
    const page = await read(after);
    all.push(...page.data);
    [after, hasMore] = [`&cursor=${page.next_cursor}`, page.has_more];
  }
  return all;
}

/** Reads until it succeeds, up to 60 times: the faults are over. */
export async function read(world: World, client: Client, operation: string, path: string, about = {}): Promise<Json> {
  for (let tries = 0; tries < 60; tries += 1) {
    const intent = await perform(world, randomOf(tries), client, { operation, method: 'GET', path, ...about });
    const done = success(intent);
    if (done) return done.body;
    if (intent.attempts.some(isAnswer)) break;
    await delay(250);
  }
  throw new Error(
    `GET ${path} did not succeed after the run, when no fault is left: see the standard error of the servers: ${world.errors()}`,
  );
}
