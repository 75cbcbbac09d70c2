import { Command } from '@commander-js/extra-typings';
import { createServer } from 'node:http';
import type { Logger } from 'pino';
import { POOLER_REMEDY } from './adapters/database/databaseUrl.js';
import { startTracing } from './adapters/tracing/startTracing.js';
import { readConfig, type Config } from './config.js';
import { advised, describeCauses, messageOf } from './failures.js';
import { listenAt } from './http/listener/listen.js';
import { configuredDatabase } from './runtime/configuredDatabase.js';
import { configWarnings } from './runtime/configWarnings.js';
import { openServiceLog } from './runtime/serviceLog.js';
import { feedWatchdog } from './runtime/watchdog.js';
import type { RunningService, StartOptions } from './service.js';
import { startTelemetry } from './telemetry.js';

const program = new Command('clinical-encounter-service')
  .description('Starts the HTTP server. Environment variables configure it: see scripts/production/configuration.md.')
  .option('--migrate', 'apply pending migrations to DATABASE_URL first')
  .option('--demo', 'create the demo tenants even with DATABASE_URL')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .action(async (options) => {
    const config = readConfig(process.env);
    const log = await openServiceLog(config.logLevel);
    // Listen for signals first, so that a stop during the start also closes what is open.
    const stop = reasonToStop(log);
    feedWatchdog(process.env['WATCHDOG_USEC']);
    const service = await start(config, log, options);
    service.announce();
    const code = await stop;
    await service.stop().catch(refuse('stop cleanly'));
    process.exit(code);
  });

// Without this listener, a failed write to standard error, for example to a full disk, would end the process.
process.stderr.on('error', () => undefined);
await program.parseAsync().catch(refuse('start'));

/** Reports an error's message, with advice if it is not our own, without its stack: the cause is outside the code. */
function refuse(what: string): (error: unknown) => never {
  return (error) => {
    const [cause, remedy] = POOLER_REMEDY;
    const text = cause.test(messageOf(error)) ? remedy : advised(error, 'Correct that, or see "scripts/ces doctor".');
    process.stderr.write(`The service did not ${what}. ${text}\n`);
    process.exit(1);
  };
}

/** Loads the service while PostgreSQL starts: each takes most of a second. */
async function start(config: Config, log: Logger, options: StartOptions): Promise<RunningService> {
  for (const warning of configWarnings(process.env)) log.warn(warning);
  await assertFree(config);
  const { databaseUrl, databaseDirectUrl, databaseOwnerUrl, dataDir, tracedAs } = config;
  if (tracedAs !== null) startTelemetry({ tracing: await startTracing(tracedAs) });
  const serveMetrics = config.metrics && (await import('./runtime/monitoring.js')).startMonitoring(config.metrics);
  const [opened, { startService }] = await Promise.all([
    configuredDatabase({
      ...{ databaseUrl, databaseDirectUrl, databaseOwnerUrl, dataDir },
      ...{ role: 'server', log: (text) => log.info(text), lost: stopWithoutDatabase },
    }),
    import('./service.js'),
  ]);
  return startService({ config, options, opened, log, serveMetrics });
}

/** Ends the process with an uncaught error: its supervisor starts it again, and the new process starts PostgreSQL. */
function stopWithoutDatabase(): never {
  throw new Error(
    'The embedded PostgreSQL stopped, or closed its connection to this server. Start the server again, and see postgres.log in DATA_DIR.',
  );
}

/** Checks whether the port is free before the slow start, which may also change the database. */
async function assertFree(config: Config): Promise<void> {
  const probe = createServer();
  await listenAt(probe, config);
  await new Promise((done) => probe.close(done));
}

/**
 * Resolves with the exit code at the first signal, or at an uncaught error, after which the state may be corrupt.
 * Ignores later signals, because a terminal and npm may both send one.
 */
function reasonToStop(log: Logger): Promise<0 | 1> {
  return new Promise((resolve) => {
    const stop = (): void => resolve(0);
    process.on('SIGTERM', stop).on('SIGINT', stop);
    // This event also reports unhandled rejections.
    process.on('uncaughtException', (error, origin) => {
      log.fatal(
        { origin, causes: describeCauses(error) },
        'uncaught error; the process stops: start it again, and report the causes, unless they name a remedy',
      );
      resolve(1);
    });
  });
}
