import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../src/adapters/database/database.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { verifyAudit } from '../../src/domain/audit/verify.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { sampleFiles, startFileHost, type FileHost } from '../support/fileHost.js';
import { newToken } from '../support/factories.js';
import { freePort } from '../support/mock.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { startReceiver, type Received, type Receiver } from '../support/receiver.js';
import { startBuild, type ServerProcess } from '../support/serverProcess.js';
import type { Cluster, Tenant } from './cluster.js';
import { openHistory, type History } from './history.js';

/** The running service of one seed, and everything around it that can fail. */
export interface World {
  readonly tenants: readonly Tenant[];
  readonly history: History;
  readonly cluster: Cluster;
  /** Between the servers and PostgreSQL. */
  readonly database: Proxy;
  /** Between the clients and each server. */
  readonly entrances: readonly Proxy[];
  /** Between the servers and S3, or undefined. */
  readonly store: Proxy | undefined;
  /** Between the servers and Redis, or undefined. */
  readonly counters: Proxy | undefined;
  readonly receiver: Receiver;
  /** The webhooks that it did not refuse. */
  readonly accepted: readonly Received[];
  /** The status that the receiver of webhooks answers. */
  readonly receiving: { status: number };
  readonly fileUrl: string;
  /** Sends a signal to a server, and starts another one in its place when it has ended. */
  replace(index: number, signal: NodeJS.Signals): Promise<void>;
  /** Adds a checkpoint to the audit now, instead of within a minute, so that its rows can be read; then verifies it. */
  verifyAudit(): Promise<{ readonly fault: unknown }>;
  /** The standard errors of all servers so far. */
  errors(): string;
  close(): Promise<void>;
}

interface WorldOptions {
  /** The copy of the repository whose build runs. */
  readonly root: URL;
  readonly historyFile: string;
  readonly servers: 1 | 2;
}

/** Counted in Redis, but never reached. */
const unlimited = Object.fromEntries(
  ['REQUESTS', 'BURST', 'UPLOADS', 'BULK', 'TOKENS'].map((name) => [`RATE_LIMIT_${name}`, '1000000']),
);

/** Starts the servers on a new database. */
export async function openWorld(cluster: Cluster, { root, historyFile, servers: count }: WorldOptions): Promise<World> {
  const name = await cluster.createDatabase();
  const url = Object.assign(new URL(cluster.url), { pathname: `/${name}` }).href;
  const database = await startProxy(url);
  const { s3, redis } = cluster;
  const store = s3 && (await startProxy(s3.account.endpoint));
  const counters = redis && (await startProxy(redis.url));
  const files: FileHost = await startFileHost();
  const receiving = { status: 204 };
  const accepted: Received[] = [];
  const receiver = await startReceiver((webhook, response) => {
    if (receiving.status < 300) accepted.push(webhook);
    response.writeHead(receiving.status).end();
  });
  const environment = {
    ...{ DATABASE_URL: database.url, DATA_DIR: cluster.dataDir, DRAIN_TIMEOUT: '10' },
    ...{ DOCUMENT_FETCH_ALLOWED_HOSTS: files.host, WEBHOOK_ALLOWED_HOSTS: receiver.host },
    ...(store ? { ...s3.environment, S3_ENDPOINT: store.url.replace(/\/$/, '') } : {}),
    ...(counters ? { ...unlimited, RATE_LIMIT_REDIS_URL: counters.url } : { RATE_LIMIT: 'off' }),
  };
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  // The servers of one deployment accept each other's tokens.
  const baseUrl = `http://127.0.0.1:${ports[0]}`;
  const processes: ServerProcess[] = [];
  const start = (port: number): ServerProcess => {
    const server = startBuild(root, { ...environment, BASE_URL: baseUrl, PORT: String(port) });
    processes.push(server);
    return server;
  };
  const servers = ports.map(start);
  await Promise.all(servers.map(({ started }) => started));
  const entrances = await Promise.all(ports.map((port) => startProxy(`http://127.0.0.1:${port}`)));
  const direct = ports.map((port) => ({ baseUrl: `http://127.0.0.1:${port}` }));
  const clients = cluster.tenants.flatMap((tenant) => tenant.clients);
  await Promise.all(
    clients.map(
      async (client, index) => (client.token = await newToken(direct[index % count] ?? { baseUrl: '' }, client)),
    ),
  );
  const replace = async (index: number, signal: NodeJS.Signals): Promise<void> => {
    servers[index]?.child.kill(signal);
    await servers[index]?.ended;
    for (;;) {
      const server = start(ports[index] ?? 0);
      servers[index] = server;
      const isUp = await server.started.then(
        () => true,
        () => false,
      );
      if (isUp) return;
      // PostgreSQL may be down, too.
      await delay(200);
    }
  };
  return {
    ...{
      tenants: cluster.tenants,
      history: openHistory(historyFile),
      cluster,
      database,
      entrances,
      store,
      counters,
      receiver,
      receiving,
      accepted,
    },
    fileUrl: files.serve('/scan.pdf', { content: sampleFiles.pdf }),
    replace,
    async verifyAudit() {
      const db = openDatabase(url);
      const context = systemContext(db);
      await addCheckpoints(context);
      const verified = await verifyAudit(context);
      await db.close();
      return verified;
    },
    errors: () =>
      processes
        .map((server) => server.stderr())
        .join('')
        .slice(-2_000),
    async close() {
      for (const { child, ended } of servers) {
        child.kill('SIGKILL');
        await ended;
      }
      for (const each of [...entrances, database, store, counters, receiver, files]) await each?.close();
      await cluster.dropDatabase(name);
    },
  };
}
