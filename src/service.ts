import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { checkPooler, openDatabase } from './adapters/database/database.js';
import { startJobs } from './adapters/jobs/jobs.js';
import { WrongStoreSetting } from './adapters/objects/objectStore.js';
import { createApp } from './app.js';
import { localUrl, type Config } from './config.js';
import type { Services } from './context.js';
import { reasonOf } from './failures.js';
import { drain, listenAt } from './http/listener/listen.js';
import { createHttpServer } from './http/listener/server.js';
import { startDeliveries } from './jobs/deliveries.js';
import { jobsWith } from './jobs/index.js';
import type { ServiceDatabase } from './runtime/configuredDatabase.js';
import { ensureDemo, type DemoTenant } from './runtime/demoCredentials.js';
import type { startMonitoring } from './runtime/monitoring.js';
import { assertRestored } from './adapters/database/restoreMark.js';
import { withSchema } from './runtime/serviceDatabase.js';
import { openServices, recordKeys, type ServiceState } from './runtime/services.js';
import { systemContext } from './runtime/systemContext.js';
import { tracing } from './telemetry.js';

export interface StartOptions {
  readonly migrate?: true;
  readonly demo?: true;
}

export type RunningService = Awaited<ReturnType<typeof startService>>;

interface Start {
  readonly config: Config;
  readonly options: StartOptions;
  /** The opened database, whose schema is not checked yet. */
  readonly opened: ServiceDatabase;
  readonly log: Logger;
  readonly serveMetrics: ReturnType<typeof startMonitoring> | null;
}

/** Starts the service in steps; after a failure, closes the database. */
export async function startService(start: Start) {
  const { config, log, opened, options } = start;
  const { databaseUrl, databasePoolSize, shutdownDelay, drainTimeout } = config;
  const applyMigrations = options.migrate ?? false;
  const database = await withSchema(opened, { databaseUrl, applyMigrations, log: (text) => log.info(text) });
  const { url, isPooled } = database.requests;
  const domain = systemContext(openDatabase(url, { poolSize: databasePoolSize, isPooled }));
  const state: ServiceState = { baseUrl: config.baseUrl ?? '', isServing: false, wakeDeliveries: () => undefined };
  try {
    await assertRestored(database.url);
    if (isPooled) await checkPooler(domain.db);
    const services = await openServices({ config, domain, databaseUrl: url, log, state });
    await recordKeys(services);
    await checkStore(services);
    const listener = createHttpServer(await createApp(services), config);
    const port = await listenAt(listener, config);
    state.baseUrl ||= localUrl({ ...config, port });
    const wantsDemo = databaseUrl === null || options.demo === true;
    const demo = wantsDemo ? await ensureDemo(services, config.dataDir, state.baseUrl) : [];
    // Start background work last: a later failure would close the database while it runs.
    const background = await startBackground(services, database, start, state);
    state.isServing = true;
    return {
      announce() {
        const kind = databaseUrl === null ? 'embedded' : 'external';
        log.info({ baseUrl: state.baseUrl, database: kind, metrics: background.metricsUrl }, 'started');
        welcome(state.baseUrl, config, demo);
      },
      async stop() {
        state.isServing = false;
        // Load balancers see the failing readiness and stop sending while connections are still accepted.
        const drained = delay(shutdownDelay).then(() => drain(listener, drainTimeout));
        await Promise.all([drained, background.stop()]);
        await tracing?.stop().catch(() => undefined);
        services.limits?.close();
        await background.close();
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

/** Only uploads and resets of sandboxes need S3, so a temporary failure does not stop the start. */
async function checkStore({ objects, config, log }: Services): Promise<void> {
  await objects.check().catch((error: unknown) => {
    const reason = reasonOf(error);
    if (config.objectStore.kind === 'file' || (error as Error).cause instanceof WrongStoreSetting) {
      throw new Error(`OBJECT_STORE cannot be used: ${reason}. See "scripts/ces doctor".`, { cause: error });
    }
    log.warn(
      { reason },
      'the object store at S3_ENDPOINT fails; until it works, uploads and resets of sandboxes fail: see "scripts/ces doctor"',
    );
  });
}

/** Starts metrics, jobs and webhooks. Their pools are separate: they neither wait for requests nor use their connections. */
async function startBackground(
  services: Services,
  database: ServiceDatabase,
  { serveMetrics }: Start,
  state: ServiceState,
) {
  const { config, log } = services;
  const { url, isPooled } = database.requests;
  const db = openDatabase(url, { poolSize: 5, pool: 'webhooks', isPooled });
  const jobsDb = openDatabase(url, { poolSize: 5, pool: 'jobs', isPooled });
  const metrics = await serveMetrics?.({ db, dataDir: config.dataDir });
  const jobs = startJobs({ db: jobsDb, jobs: jobsWith({ ...services, db: jobsDb }), log });
  const deliveries = startDeliveries({ ...services, db });
  state.wakeDeliveries = deliveries.wake;
  return {
    metricsUrl: metrics?.url,
    async stop() {
      await Promise.all([jobs.stop(config.drainTimeout), deliveries.stop(config.drainTimeout)]);
      metrics?.close();
    },
    close: () => Promise.all([db.close(), jobsDb.close()]),
  };
}

/** Prints addresses and first steps on standard error, because standard output has the log. */
function welcome(baseUrl: string, { databaseUrl, dataDir }: Config, [first]: readonly DemoTenant[]): void {
  const lines = [`Clinical Encounter Service on ${baseUrl}`, `  reference    ${baseUrl}/docs`];
  if (first) {
    // A terminal opens the link with a click. In other places, such as a log, credentials do not belong.
    const credentials = process.stderr.isTTY ? `#${first.clientId}:${first.clientSecret}` : '';
    lines.push(`  workbench    ${baseUrl}/workbench${credentials}`);
    const file = join(dataDir, 'demo-credentials.json');
    lines.push(
      `  credentials  ${file}`,
      '  first call',
      `    curl -s ${baseUrl}/oauth/token -d grant_type=client_credentials -u "$(node -p \\`,
      `      "const [t] = require('${file}').tenants; t.clientId + ':' + t.clientSecret")"`,
    );
  } else if (databaseUrl === null) {
    // The tenant `demo` exists, but the file with its credentials does not.
    lines.push('  credentials  none on file: scripts/ces client create --tenant demo --preset partner');
  }
  process.stderr.write(`${lines.join('\n')}\n`);
}
