import { pino } from 'pino';
import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../src/adapters/database/database.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { verifyAudit } from '../../src/domain/audit/verify.js';
import { packageRoot } from '../../src/packageRoot.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { sampleFiles, startFileHost } from '../support/fileHost.js';
import { newToken } from '../support/factories.js';
import { freePort } from '../support/mock.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { startReceiver, type Received, type Receiver } from '../support/receiver.js';
import { startBuild, type ServerProcess } from '../support/serverProcess.js';
import { balancer } from './balancer.js';
import type { Cluster } from './cluster.js';
import type { Tenant } from './tenants.js';
import { openHistory, type History } from './history.js';

/** The running service on a separate database, and everything around it that can fail. */
export interface World {
  readonly cluster: Cluster;
  readonly tenants: readonly Tenant[];
  readonly history: History;
  /** Where clients send their requests: haproxy, or {@link entrances}. */
  readonly addresses: readonly string[];
  /** The proxy in front of each server. */
  readonly entrances: readonly Proxy[];
  /** The proxy from each server to PostgreSQL; after a promotion, to the new primary. */
  readonly ways: readonly Proxy[];
  /** The proxy between the servers and S3; undefined without S3. */
  readonly store: Proxy | undefined;
  /** The proxy between the servers and Redis; undefined without Redis. */
  readonly counters: Proxy | undefined;
  readonly receiver: Receiver;
  /** The webhooks that the receiver did not refuse. */
  readonly accepted: readonly Received[];
  /** The status that the receiver of webhooks answers. */
  readonly receiving: { status: number };
  readonly fileUrl: string;
  /** The present address of the database, without a proxy. */
  databaseUrl(): string;
  /** Sends a signal to a server, and starts another one in its place when it has ended. @param skewMs of its clock */
  replace(index: number, signal: NodeJS.Signals, skewMs?: number): Promise<void>;
  /** Stops all servers for the time of the work. */
  whileStopped(work: () => Promise<unknown>): Promise<void>;
  /** Adds a checkpoint to the audit now, instead of within a minute, so that its rows can be read; then verifies it. */
  verifyAudit(): Promise<{ readonly fault: unknown }>;
  /** Whether a server ever had another time than the others. */
  hadOtherClock(): boolean;
  /** The servers that ended without a signal from here. */
  readonly crashes: readonly string[];
  /** The memory of each server, in MiB. */
  memory(): number[];
  /** The standard errors of all servers so far. */
  errors(): string;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly servers: 1 | 2 | 3;
  /** Whether the servers, at most three, are behind haproxy. */
  readonly isBalanced?: boolean;
  /** The copy of the repository whose build runs; default: this one. */
  readonly root?: URL | undefined;
}

/** Limits that Redis counts, but that no client reaches. */
const unlimited = Object.fromEntries(
  ['REQUESTS', 'BURST', 'UPLOADS', 'BULK', 'TOKENS'].map((name) => [`RATE_LIMIT_${name}`, '1000000']),
);
/** Longer than haproxy needs to notice the failing readiness: two checks that are 2 s apart. */
const SHUTDOWN_DELAY = '6';
/** Milliseconds until haproxy uses a new server, which it does after its next check. */
const NOTICED_MS = 2_500;

/** Starts the servers on a new database. */
export async function openWorld(cluster: Cluster, options: WorldOptions): Promise<World> {
  const { servers: count, isBalanced = false, root = packageRoot } = options;
  const { s3, redis, postgres, tenants } = cluster;
  const name = await cluster.createDatabase();
  const folder = await mkdtemp(join(cluster.folder, 'world-'));
  // A full disk must affect the files of the servers, too.
  const dataDir = await mkdtemp(join(cluster.disk?.path ?? folder, 'data-'));
  const store = s3 && (await startProxy(s3.account.endpoint));
  const counters = redis && (await startProxy(redis.url));
  const files = await startFileHost();
  const receiving = { status: 204 };
  const accepted: Received[] = [];
  const receiver = await startReceiver((webhook, response) => {
    if (receiving.status < 300) accepted.push(webhook);
    response.writeHead(receiving.status).end();
  });
  const [frontPort = 0, ...ports] = await Promise.all(Array.from({ length: count + 1 }, freePort));
  const toPort = (port: number): Promise<Proxy> => startProxy(`http://127.0.0.1:${port}`);
  const portOf = ({ url }: Proxy): number => Number(new URL(url).port);
  const ways = await Promise.all(ports.map(() => startProxy(postgres.url(name))));
  const entrances = await Promise.all(ports.map(toPort));
  const front = isBalanced ? await balancer(folder, frontPort, entrances.map(portOf)) : undefined;
  const environment = {
    // One BASE_URL and DATA_DIR, so that the servers accept each other's tokens.
    ...{ BASE_URL: front?.url ?? `http://127.0.0.1:${ports[0]}`, DATA_DIR: dataDir, DRAIN_TIMEOUT: '10' },
    ...{ DOCUMENT_FETCH_ALLOWED_HOSTS: files.host, WEBHOOK_ALLOWED_HOSTS: receiver.host },
    ...(store ? { ...s3.environment, S3_ENDPOINT: store.url.replace(/\/$/, '') } : {}),
    ...(counters ? { ...unlimited, RATE_LIMIT_REDIS_URL: counters.url } : { RATE_LIMIT: 'off' }),
    ...(front ? { TRUSTED_PROXIES: '1', SHUTDOWN_DELAY } : {}),
  };
  const processes: ServerProcess[] = [];
  const crashes: string[] = [];
  const stopped = new Set<ServerProcess>();
  const start = async (index: number, skewMs = 0): Promise<ServerProcess> => {
    const NODE_OPTIONS = skewMs === 0 ? '' : `--import=${clockModule(skewMs)}`;
    const server = startBuild(root, {
      ...environment,
      DATABASE_URL: ways[index]?.url ?? '',
      PORT: String(ports[index]),
      NODE_OPTIONS,
    });
    processes.push(server);
    await server.started;
    void server.ended.then(() => stopped.has(server) || crashes.push(`server ${index} ended: ${server.stderr()}`));
    return server;
  };
  const stop = async (server: ServerProcess | undefined, signal: NodeJS.Signals): Promise<void> => {
    if (!server) return;
    stopped.add(server);
    server.child.kill(signal);
    await server.ended;
  };
  const servers: ServerProcess[] = [];
  for (const index of ports.keys()) servers[index] = await start(index);
  await front?.start();
  const clients = tenants.flatMap((tenant) => tenant.clients);
  const baseUrl = `http://127.0.0.1:${ports[0]}`;
  await Promise.all(clients.map(async (client) => (client.token = await newToken({ baseUrl }, client))));
  const history = openHistory(join(folder, 'history.ndjson'));
  let hadOtherClock = false;
  return {
    ...{ cluster, tenants, history, entrances, ways, store, counters, receiver, receiving, accepted, crashes },
    addresses: front ? [front.url] : entrances.map(({ url }) => url.replace(/\/$/, '')),
    fileUrl: files.serve('/scan.pdf', { content: sampleFiles.pdf }),
    hadOtherClock: () => hadOtherClock,
    async replace(index, signal, skewMs = 0) {
      hadOtherClock ||= skewMs !== 0;
      await stop(servers[index], signal);
      for (let server; !server;) {
        // PostgreSQL may be down, too.
        server = await start(index, skewMs).catch(() => delay(200, undefined));
        if (server) servers[index] = server;
      }
      if (front) await delay(NOTICED_MS);
    },
    async whileStopped(work) {
      await Promise.all(servers.map((server) => stop(server, 'SIGTERM')));
      await work();
      for (const index of ports.keys()) servers[index] = await start(index);
      if (front) await delay(NOTICED_MS);
    },
    databaseUrl: () => postgres.url(name),
    async verifyAudit() {
      const db = openDatabase(postgres.url(name));
      await addCheckpoints({ ...systemContext(db), log: pino({ enabled: false }) });
      const verified = await verifyAudit(systemContext(db));
      await db.close();
      return verified;
    },
    memory: () =>
      servers.map(({ child }) => {
        const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
        return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024);
      }),
    errors: () =>
      processes
        .map((server) => server.stderr())
        .join('')
        .slice(-2_000),
    async close() {
      await history.close();
      await front?.stop('SIGKILL');
      await Promise.all(servers.map((server) => stop(server, 'SIGKILL')));
      for (const each of [...entrances, ...ways, store, counters, receiver, files]) await each?.close();
      await cluster.dropDatabase(name);
    },
  };
}

/** The URL of a module that moves the clock of the process that loads it. */
function clockModule(ms: number): string {
  const now = `static now() { return super.now() + ${ms} }`;
  const create = 'constructor(...given) { super(...(given.length > 0 ? given : [Date.now()])) }';
  return `data:text/javascript,${encodeURIComponent(`globalThis.Date = class extends Date { ${now} ${create} }`)}`;
}
