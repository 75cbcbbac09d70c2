import { Command } from '@commander-js/extra-typings';
import { join } from 'node:path';
import { pino, type Logger } from 'pino';
import { openDatabase } from './adapters/database.js';
import { openEmbeddedPostgres } from './adapters/embeddedPostgres.js';
import { checkSchema, migrate } from './adapters/migrations.js';
import { createApp } from './app.js';
import { readConfig, type Config } from './config.js';
import { ensureDemo, type DemoTenant } from './demoCredentials.js';
import { createHttpServer, drain, listen } from './http/server.js';
import { domainContext } from './domainContext.js';
import { openServices } from './services.js';

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
  .action(async (options) => {
    try {
      const service = await start(readConfig(process.env), options);
      // In this order, so that whoever reads that it has started can stop it.
      stopOnSignal(service);
      service.announce();
    } catch (error) {
      // A start that fails is a matter of configuration: the operator needs the message, not the stack.
      process.stderr.write(`The service did not start. ${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    }
  });

await program.parseAsync();

/** Everything is checked before the first request is taken: configuration, schema, keys, object store. */
async function start(config: Config, options: StartOptions): Promise<RunningService> {
  const log = pino({ level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime });
  let stopping = false;
  let baseUrl = config.baseUrl ?? '';
  const database = await openMigrated(config, options, log);
  const domain = domainContext(openDatabase(database.url, { poolSize: config.databasePoolSize }));
  try {
    const services = await openServices({ config, domain, log, baseUrl: () => baseUrl, isStopping: () => stopping });
    await services.objects.check().catch((cause: unknown) => {
      throw new Error(`OBJECT_STORE cannot be used: ${reasonOf(cause)}`, { cause });
    });
    const app = await createApp(services);
    const wantsDemo = config.databaseUrl === null || options.demo === true;
    baseUrl ||= `http://${urlHost(config.host)}:${config.port}`;
    // Before listening, so that whoever finds the service ready finds the credentials too.
    let demo = wantsDemo ? await ensureDemo(domain, config.dataDir, baseUrl) : [];
    const server = createHttpServer(app, domain.newId);
    const port = await listen(server, config.port, config.host).catch((cause: unknown) => {
      throw new Error(`HOST and PORT cannot be listened on: ${String(cause)}`, { cause });
    });
    if (config.baseUrl === null && port !== config.port) {
      baseUrl = `http://${urlHost(config.host)}:${port}`;
      if (wantsDemo) demo = await ensureDemo(domain, config.dataDir, baseUrl);
    }
    return {
      announce() {
        log.info({ baseUrl, database: config.databaseUrl === null ? 'embedded' : 'external' }, 'started');
        welcome(baseUrl, config, demo);
      },
      async stop() {
        stopping = true;
        await drain(server, config.drainTimeout);
        await domain.db.$disconnect();
        await database.close();
        log.info('stopped');
      },
    };
  } catch (error) {
    await domain.db.$disconnect();
    await database.close();
    throw error;
  }
}

/** The embedded default is always brought up to date; somebody's own database only when asked. */
async function openMigrated(
  { databaseUrl, dataDir }: Config,
  options: StartOptions,
  log: Logger,
): Promise<{ url: string; close(): Promise<void> }> {
  if (databaseUrl === null) {
    const embedded = await openEmbeddedPostgres({ dataDir, role: 'server', log: (text) => log.info({}, text) });
    await migrate(embedded.url);
    return embedded;
  }
  if (options.migrate) await migrate(databaseUrl);
  const schema = await checkSchema(databaseUrl).catch((cause: unknown) => {
    throw new Error(`DATABASE_URL cannot be used: ${cause instanceof Error ? cause.message : 'unknown'}`, { cause });
  });
  if (schema.state === 'behind') {
    throw new Error(`DATABASE_URL lacks ${schema.pending.join(', ')}: run "make migrate", or start with --migrate.`);
  }
  if (schema.state === 'unknown') {
    throw new Error(`DATABASE_URL has migrations that this version does not know: ${schema.names.join(', ')}.`);
  }
  return { url: databaseUrl, close: async () => undefined };
}

/** Signals after the first change nothing: a terminal and npm may both send one. The drain's time limit ends it. */
function stopOnSignal(service: RunningService): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    service.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`The service did not stop cleanly. ${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
}

/** On standard error, because standard output carries the log. */
function welcome(baseUrl: string, { dataDir }: Config, [first]: readonly DemoTenant[]): void {
  const lines = [`Clinical Encounter Service on ${baseUrl}`, `  reference    ${baseUrl}/docs`];
  if (first) {
    const file = join(dataDir, 'demo-credentials.json');
    lines.push(
      `  credentials  ${file}`,
      '  first call',
      `    curl -s ${baseUrl}/oauth/token -d grant_type=client_credentials -u "$(node -p \\`,
      `      "const [t] = require('${file}').tenants; t.clientId + ':' + t.clientSecret")"`,
    );
  }
  process.stderr.write(`${lines.join('\n')}\n`);
}

/** What is behind a failure, without its stack: "ECONNREFUSED" says more than "temporarily unavailable". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Nobody can connect to "any address". */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
