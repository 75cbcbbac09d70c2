import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../../src/packageRoot.js';
import { audit, type Case } from './auditor.js';
import type { Cluster, Tenant } from './cluster.js';
import { startFaults } from './faults.js';
import { isAnswer, success, type Client, type Json } from './history.js';
import { hookOf, perform, runLoad, subscribe, type LoadOptions } from './load.js';
import { randomOf } from './random.js';
import type { Scene } from './scene.js';
import { openWorld, type World } from './world.js';

export interface RunOptions extends LoadOptions {
  readonly withFaults: boolean;
  readonly servers: 1 | 2;
  /** The copy of the repository whose build runs; default: this one. */
  readonly root?: URL;
}

/** The result of a seed. */
export interface Run {
  readonly seed: number;
  readonly requests: number;
  /** Requests whose response was lost, or that had to be sent again. */
  readonly unknown: number;
  /** How often each kind of fault was injected. */
  readonly faults: Readonly<Record<string, number>>;
  readonly anomalies: readonly string[];
  readonly file: string;
  readonly seconds: number;
  readonly auditSeconds: number;
}

/** How long webhooks may take to arrive after the load, with the retries that the auditor asks for. */
const ARRIVAL_MS = 120_000;

/** Plays one seed on a new database, and judges it. */
export async function runSeed(cluster: Cluster, options: RunOptions): Promise<Run> {
  const begun = Date.now();
  const folder = await mkdtemp(join(tmpdir(), 'ces-consistency-'));
  const file = join(folder, `seed-${options.seed}.ndjson`);
  const world = await openWorld(cluster, {
    root: options.root ?? packageRoot,
    historyFile: file,
    servers: options.servers,
  });
  let isKept = true;
  try {
    await subscribe(world);
    const faults = startFaults(world, options);
    const load = runLoad(world, options);
    // Also when the load fails: nothing may be injected into a world that is closed.
    const injected = await load.then(faults.stop, faults.stop);
    const scenes = await load;
    const cases: Case[] = [];
    const unread: string[] = [];
    for (const scene of scenes) {
      const collected = await collect(world, scene).catch((error: unknown) => String(error));
      if (typeof collected === 'string') unread.push(collected);
      else cases.push(collected);
    }
    const { fault } = await world.verifyAudit();
    const judged = Date.now();
    const anomalies = [
      ...unread,
      ...audit(cases),
      ...(fault ? [`the audit's chain of hashes: ${JSON.stringify(fault)}`] : []),
    ];
    isKept = anomalies.length > 0;
    const attempts = world.history.intents.flatMap((intent) => intent.attempts);
    return {
      ...{ seed: options.seed, requests: attempts.length, faults: injected, anomalies, file },
      unknown: attempts.filter(({ status }) => status === null || status >= 500).length,
      seconds: (Date.now() - begun) / 1_000,
      auditSeconds: (Date.now() - judged) / 1_000,
    };
  } finally {
    await world.history.close();
    await world.close();
    if (!isKept) await rm(folder, { recursive: true });
  }
}

/** Reads the final state of a tenant, its feed and its audit, and waits for its webhooks. */
async function collect(world: World, { tenant, encounters, orders, patients, documents }: Scene): Promise<Case> {
  const [reader] = tenant.clients;
  if (!reader) throw new Error('a tenant has no client');
  const get = (operation: string, path: string, about = {}): Promise<Json> =>
    read(world, reader, operation, path, about);
  for (const encounter of encounters.keys()) await get('getEncounter', `/encounters/${encounter}`, { encounter });
  for (const order of orders.keys()) await get('getOrder', `/orders/${order}`, { order });
  for (const patient of patients.keys()) await get('getPatient', `/clients/${patient}`, { patient });
  for (const document of documents.keys()) await get('getDocument', `/documents/${document}`, { document });
  const intents = world.history.intents.filter(({ client }) => client.tenant === tenant.id);
  const feed = await everyPage((after) => get('feed', `/events?limit=100${after}`));
  const received = await arrivals(world, tenant, reader, feed.length);
  const told = await everyPage((after) => get('feed', `/events?limit=100${after}`));
  await world.verifyAudit();
  const rows = await everyPage((after) => get('audit', `/audit-events?limit=100${after}`));
  const requestIds = new Set(world.history.intents.flatMap(({ attempts }) => attempts.map((each) => each.requestId)));
  return { tenant, intents, feed, told, rows, requestIds, received };
}

async function arrivals(world: World, tenant: Tenant, reader: Client, expected: number): Promise<Case['received']> {
  const path = hookOf(tenant.id);
  const own = () => world.accepted.filter((webhook) => webhook.path === path);
  const distinct = (): number => new Set(own().map(({ headers }) => headers['webhook-id'])).size;
  const endpoints = await read(world, reader, 'endpoints', '/webhook-endpoints');
  const id = endpoints.data.find(({ url }: Json) => url.endsWith(path))?.id;
  for (const end = Date.now() + ARRIVAL_MS; distinct() < expected && Date.now() < end; await delay(300)) {
    // The next attempt of the service would be minutes later.
    for (const status of ['waiting', 'failed']) {
      const late = await read(
        world,
        reader,
        'deliveries',
        `/webhook-endpoints/${id}/deliveries?status=${status}&limit=100`,
      );
      for (const { id: delivery, attempts } of late.data) {
        if (attempts.length === 0) continue;
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
    [after, hasMore] = [`&after=${page.next_cursor}`, page.has_more];
  }
  return all;
}

/** Reads as often as it takes: the faults are over. */
async function read(world: World, client: Client, operation: string, path: string, about = {}): Promise<Json> {
  for (let tries = 0; tries < 60; tries += 1) {
    const intent = await perform(world, randomOf(tries), client, { operation, method: 'GET', path, ...about });
    const done = success(intent);
    if (done) return done.body;
    if (intent.attempts.some(isAnswer)) break;
    await delay(250);
  }
  throw new Error(`${operation} ${path} did not work after the run: ${world.errors()}`);
}
