import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { checkPooler, openDatabase } from './adapters/database/database.js';
import { startJobWorker } from './adapters/jobs/jobWorker.js';
import { WrongStoreSetting } from './adapters/objects/objectStore.js';
import { createApp } from './app.js';
import { localUrl, type Config } from './config.js';
import type { Services } from './context.js';
import { reasonOf } from './failures.js';
import { drain, listenAt } from './http/listener/listen.js';
import { refusalLog } from './http/listener/requestLog.js';
import { createHttpServer } from './http/listener/server.js';
import { startDeliveries } from './jobs/deliveries.js';
import { jobsWith } from './jobs/index.js';
import { version } from './packageRoot.js';
import type { ServiceDatabase } from './runtime/configuredDatabase.js';
import { ensureDemo, type DemoTenant } from './runtime/demoCredentials.js';
import type { startMonitoring } from './runtime/monitoring.js';
import { assertRestored } from './adapters/database/restoreMark.js';
import { registerCell } from './runtime/ownCell.js';
import { withSchema } from './runtime/serviceDatabase.js';
import { openServices } from './runtime/services.js';
import { systemContext } from './runtime/systemContext.js';
import { tracing } from './telemetry.js';

export interface StartOptions {
  readonly migrate?: true;
  readonly demo?: true;
}

export interface RunningService {
  announce(): void;
  stop(): Promise<void>;
}

/** The server for requests. */
interface Listener {
  readonly port: number;
  /** Accepts no more requests, and resolves when all requests in progress have been answered. */
  stop(): Promise<void>;
}

interface Start {
  readonly config: Config;
  readonly options: StartOptions;
  /** The opened database, whose schema is not checked yet. */
  readonly opened: ServiceDatabase;
  readonly log: Logger;
  readonly serveMetrics: ReturnType<typeof startMonitoring> | null;
}

/** Checks configuration, schema, keys and object store before it accepts requests. */
export async function startService({ config, options, opened, log, serveMetrics }: Start): Promise<RunningService> {
  let stopping = false;
  let baseUrl = config.baseUrl ?? '';
  const { databaseUrl, dataDir, databasePoolSize } = config;
  const applyMigrations = options.migrate ?? false;
  const database = await withSchema(opened, { databaseUrl, applyMigrations, log: (text) => log.info(text) });
  const { url: requestUrl, isPooled } = database.requests;
  const domain = systemContext(openDatabase(requestUrl, { poolSize: databasePoolSize, isPooled }));
  try {
    await assertRestored(database.url);
    if (isPooled) await checkPooler(domain.db);
    let wakeDeliveries = (): void => undefined;
    const state = { baseUrl: () => baseUrl, isStopping: () => stopping, wakeDeliveries: () => wakeDeliveries() };
    const services = await openServices({ config, domain, databaseUrl: requestUrl, log, ...state });
    await checkStore(services);
    const wantsDemo = databaseUrl === null || options.demo === true;
    baseUrl ||= localUrl(config);
    await registerCell(domain.db, config, baseUrl);
    // Create the demo tenants before listening, so that their credentials exist when the service is ready.
    let demo = wantsDemo ? await ensureDemo(services, dataDir, baseUrl) : [];
    const listener = await serve(services);
    if (config.baseUrl === null && listener.port !== config.port) {
      baseUrl = localUrl({ ...config, port: listener.port });
      if (wantsDemo) demo = await ensureDemo(services, dataDir, baseUrl);
    }
    const webhookDb = openDatabase(requestUrl, { poolSize: 5, pool: 'webhooks', isPooled });
    // A separate pool: scrapes neither wait for requests nor use their connections.
    const metrics = await serveMetrics?.({ db: webhookDb, dataDir });
    // Start jobs last: a later failure would close the database while they run.
    const jobs = await startJobWorker({ url: database.url, jobs: jobsWith(services), log });
    const deliveries = startDeliveries({ ...services, db: webhookDb });
    wakeDeliveries = deliveries.wake;
    return {
      announce() {
        const kind = databaseUrl === null ? 'embedded' : 'external';
        log.info({ baseUrl, database: kind, metrics: metrics?.url }, 'started');
        welcome(baseUrl, config, demo);
      },
      async stop() {
        stopping = true;
        await Promise.all([listener.stop(), jobs.stop(config.drainTimeout), deliveries.stop(config.drainTimeout)]);
        metrics?.close();
        await tracing?.stop().catch(() => undefined);
        services.limits?.close();
        await services.auditLog.close();
        await webhookDb.close();
        await domain.db.close();
        await database.close();
        log.info('stopped');
      },
    };
  } catch (error) {
    await domain.db.close();
    await database.close();
    throw error;
  }
}

/** Only uploads need S3, so a temporary failure does not stop the start. */
async function checkStore({ objects, config, log }: Services): Promise<void> {
  await objects.check().catch((error: unknown) => {
    const reason = reasonOf(error);
    if (config.objectStore.kind === 'file' || (error as Error).cause instanceof WrongStoreSetting) {
      throw new Error(`OBJECT_STORE cannot be used: ${reason}`, { cause: error });
    }
    log.warn({ reason }, 'the object store at S3_ENDPOINT does not answer; uploads fail until it does');
  });
}

async function serve(services: Services): Promise<Listener> {
  const { config, log, newId } = services;
  const app = await createApp(services);
  const server = createHttpServer(app, newId, refusalLog(log, version), config);
  const port = await listenAt(server, config);
  const stop = async (): Promise<void> => {
    // Load balancers see the failing readiness and stop sending while connections are still accepted.
    await delay(config.shutdownDelay);
    await drain(server, config.drainTimeout);
  };
  return { port, stop };
}

/** Prints addresses and first steps on standard error, because standard output has the log. */
function welcome(baseUrl: string, { databaseUrl, dataDir }: Config, [first]: readonly DemoTenant[]): void {
  const lines = [`Clinical Encounter Service on ${baseUrl}`, `  reference    ${baseUrl}/docs`];
  if (first) {
    const file = join(dataDir, 'demo-credentials.json');
    lines.push(
      `  credentials  ${file}`,
      '  first call',
      `    curl -s ${baseUrl}/oauth/token -d grant_type=client_credentials -u "$(node -p \\`,
      `      "const [t] = require('${file}').tenants; t.clientId + ':' + t.clientSecret")"`,
    );
  } else if (databaseUrl === null) {
    // The credentials are missing: their file was deleted, or the process died before writing it.
    lines.push('  credentials  none on file: scripts/ces client create --tenant demo --preset partner');
  }
  process.stderr.write(`${lines.join('\n')}\n`);
}
