import { Command } from '@commander-js/extra-typings';
import cluster from 'node:cluster';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from './adapters/database/database.js';
import { startTracing } from './adapters/tracing/startTracing.js';
import { startJobWorker } from './adapters/jobs/jobWorker.js';
import { openServiceDatabase } from './runtime/serviceDatabase.js';
import { createApp } from './app.js';
import { readConfig, type Config } from './config.js';
import { configWarnings } from './runtime/configWarnings.js';
import { ensureDemo, type DemoTenant } from './runtime/demoCredentials.js';
import { contractVersion } from './http/contractDocument.js';
import { refusalLog } from './http/requestLog.js';
import { createHttpServer, drain, listen } from './http/server.js';
import { systemContext } from './runtime/systemContext.js';
import { errorCode, reasonOf } from './failures.js';
import { startDeliveries } from './jobs/deliveries.js';
import { jobsWith } from './jobs/index.js';
import { openServiceLog } from './runtime/serviceLog.js';
import { openServices } from './runtime/services.js';
import { startWorkers, type Listener } from './runtime/workers.js';
import { withMembers, type Services } from './context.js';
import { startTelemetry, tracing } from './telemetry.js';

interface StartOptions {
  readonly migrate?: true;
  readonly demo?: true;
}

interface RunningService {
  /** Says that it has started, and where. */
  announce(): void;
  stop(): Promise<void>;
}

const program = new Command('clinical-encounter-service')
  .description('Starts the HTTP server. Configuration is by environment variables, see the README.')
  .option('--migrate', 'apply pending migrations to DATABASE_URL first')
  .option('--demo', 'create the demo tenants also with DATABASE_URL')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .action(async (options) => {
    // Heard from the beginning: what a start has opened is closed also when it is stopped at once.
    const stop = stopSignal();
    const service = await start(readConfig(process.env), options);
    service.announce();
    await stop;
    await service.stop().catch(refuse('stop'));
    process.exit(0);
  });

await program.parseAsync().catch(refuse('start'));

/** What fails here is a matter of configuration or surroundings: the operator needs the message, not the stack. */
function refuse(what: string): (error: unknown) => never {
  return (error) => {
    process.stderr.write(`The service did not ${what}. ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  };
}

/** Everything is checked before the first request is taken: configuration, schema, keys, object store. */
async function start(config: Config, options: StartOptions): Promise<RunningService> {
  const log = await openServiceLog(config.logLevel);
  if (cluster.isPrimary) {
    for (const warning of configWarnings(process.env)) log.warn(warning);
    await assertFree(config);
  }
  const { tracedAs } = config;
  if (tracedAs !== null) startTelemetry({ tracing: await startTracing(tracedAs) });
  const serveMetrics = config.metrics && (await import('./runtime/monitoring.js')).startMonitoring(config.metrics);
  let stopping = false;
  let baseUrl = config.baseUrl ?? '';
  const { databaseUrl, databaseOwnerUrl, dataDir, databasePoolSize, workers } = config;
  const database = await openServiceDatabase({
    databaseUrl,
    databaseOwnerUrl,
    dataDir,
    role: 'server',
    applyMigrations: options.migrate ?? false,
    log: (text) => log.info(text),
  });
  const domain = systemContext(openDatabase(database.url, { poolSize: databasePoolSize }));
  try {
    const services = await openServices({
      config,
      domain,
      databaseUrl: database.url,
      log,
      baseUrl: () => baseUrl,
      isStopping: () => stopping,
    });
    await services.objects.check().catch((cause: unknown) => {
      throw new Error(`OBJECT_STORE cannot be used: ${reasonOf(cause)}`, { cause });
    });
    const wantsDemo = cluster.isPrimary && (databaseUrl === null || options.demo === true);
    baseUrl ||= `http://${urlHost(config.host)}:${config.port}`;
    // Before listening: once the service is ready, the credentials are there.
    let demo = wantsDemo ? await ensureDemo(services, dataDir, baseUrl) : [];
    const environment = {
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: String(Math.ceil(databasePoolSize / workers)),
    };
    const isServedHere = workers === 1 || cluster.isWorker;
    const listener = await (isServedHere ? serve(services) : startWorkers(workers, environment, log));
    if (config.baseUrl === null && listener.port !== config.port) {
      baseUrl = `http://${urlHost(config.host)}:${listener.port}`;
      if (wantsDemo) demo = await ensureDemo(services, dataDir, baseUrl);
    }
    const metrics = cluster.isPrimary ? await serveMetrics?.({ db: domain.db, dataDir }) : undefined;
    // Last of all: a start that fails after this would leave jobs at work on a database that is being closed.
    const jobs = cluster.isPrimary
      ? await startJobWorker({ url: database.url, jobs: jobsWith(services), log })
      : undefined;
    const webhookDb = cluster.isPrimary ? openDatabase(database.url, { poolSize: 5, pool: 'webhooks' }) : undefined;
    const deliveries = webhookDb && startDeliveries(withMembers(services, { db: webhookDb }));
    return {
      announce() {
        if (cluster.isWorker) return;
        log.info(
          { baseUrl, database: databaseUrl === null ? 'embedded' : 'external', metrics: metrics?.url },
          'started',
        );
        welcome(baseUrl, config, demo);
      },
      async stop() {
        stopping = true;
        await Promise.all([listener.stop(), jobs?.stop(config.drainTimeout), deliveries?.stop(config.drainTimeout)]);
        metrics?.close();
        await tracing?.stop().catch(() => undefined);
        services.limits?.close();
        await webhookDb?.$disconnect();
        await domain.db.$disconnect();
        await database.close();
        if (cluster.isPrimary) log.info('stopped');
      },
    };
  } catch (error) {
    await domain.db.$disconnect();
    await database.close();
    throw error;
  }
}

/** Listens in this process. */
async function serve(services: Services): Promise<Listener> {
  const { config, log, newId } = services;
  const app = await createApp(services);
  const server = createHttpServer(app, newId, refusalLog(log, contractVersion()), config);
  const port = await listenAt(server, config);
  const stop = async (): Promise<void> => {
    // Load balancers learn of it by the failing readiness, and send nothing more, while connections are still taken.
    await delay(config.shutdownDelay);
    await drain(server, config.drainTimeout);
  };
  return { port, stop };
}

/** Before the rest of a start, which takes time and may change the database for nothing. */
async function assertFree(config: Config): Promise<void> {
  const probe = createServer();
  await listenAt(probe, config);
  await new Promise((done) => probe.close(done));
}

/** @throws Error naming HOST and PORT and, when the port is taken, what to do */
function listenAt(server: Server, { host, port }: Config): Promise<number> {
  return listen(server, port, host).catch((cause: unknown) => {
    const advice = errorCode(cause) === 'EADDRINUSE' ? '. Stop what listens there, or choose another PORT.' : '';
    throw new Error(`HOST and PORT cannot be listened on: ${String(cause)}${advice}`, { cause });
  });
}

/** Resolves at the first signal; later ones change nothing: a terminal and npm may both send one. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.on('SIGTERM', resolve).on('SIGINT', resolve);
  });
}

/** On standard error, because standard output carries the log. */
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
    // Their file was deleted, or the process died before it was written.
    lines.push('  credentials  none on file: npm run --silent cli -- client create --tenant demo --preset partner');
  }
  process.stderr.write(`${lines.join('\n')}\n`);
}

/** Nobody can connect to "any address". */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
