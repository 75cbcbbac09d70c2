import { Command } from '@commander-js/extra-typings';
import cluster from 'node:cluster';
import { createServer } from 'node:http';
import type { Logger } from 'pino';
import { startTracing } from './adapters/tracing/startTracing.js';
import { readConfig, type Config } from './config.js';
import { describeCauses, messageOf } from './failures.js';
import { listenAt } from './http/listener/listen.js';
import { configuredDatabase } from './runtime/configuredDatabase.js';
import { configWarnings } from './runtime/configWarnings.js';
import { openServiceLog } from './runtime/serviceLog.js';
import type { RunningService, StartOptions } from './service.js';
import { startTelemetry } from './telemetry.js';

const program = new Command('clinical-encounter-service')
  .description('Starts the HTTP server. Environment variables configure it: see scripts/production/configuration.md.')
  .option('--migrate', 'apply pending migrations to DATABASE_URL first')
  .option('--demo', 'create the demo tenants also with DATABASE_URL')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .action(async (options) => {
    const config = readConfig(process.env);
    const log = await openServiceLog(config.logLevel);
    // Heard from the beginning: what a start has opened is closed also when it is stopped at once.
    const stop = reasonToStop(log);
    const service = await start(config, log, options);
    service.announce();
    const reason = await Promise.race([stop, service.failed]);
    await service.stop().catch(refuse('stop'));
    if (reason instanceof Error) refuse('continue')(reason);
    process.exit(reason === 1 ? 1 : 0);
  });

// Without a listener, a full disk behind standard error would end the process at its next message.
process.stderr.on('error', () => undefined);
await program.parseAsync().catch(refuse('start'));

/** What fails here is a matter of configuration or surroundings: the operator needs the message, not the stack. */
function refuse(what: string): (error: unknown) => never {
  return (error) => {
    process.stderr.write(`The service did not ${what}. ${messageOf(error)}\n`);
    process.exit(1);
  };
}

/** While PostgreSQL starts, the service is loaded: each takes most of a second. */
async function start(config: Config, log: Logger, options: StartOptions): Promise<RunningService> {
  if (cluster.isPrimary) {
    for (const warning of configWarnings(process.env)) log.warn(warning);
    await assertFree(config);
  }
  const { databaseUrl, databaseOwnerUrl, dataDir, tracedAs } = config;
  if (tracedAs !== null) startTelemetry({ tracing: await startTracing(tracedAs) });
  const serveMetrics = config.metrics && (await import('./runtime/monitoring.js')).startMonitoring(config.metrics);
  const [opened, { startService }] = await Promise.all([
    configuredDatabase({ databaseUrl, databaseOwnerUrl, dataDir, role: 'server', log: (text) => log.info(text) }),
    import('./service.js'),
  ]);
  return startService({ config, options, opened, log, serveMetrics });
}

/** Before the rest of a start, which takes time and may change the database for nothing. */
async function assertFree(config: Config): Promise<void> {
  const probe = createServer();
  await listenAt(probe, config);
  await new Promise((done) => probe.close(done));
}

/**
 * Resolves at the first signal (later ones change nothing: a terminal and npm may both send one), or at an error that no
 * request or job has caught: the state of the process may be wrong, so it ends as at a signal, for another to take its place.
 * @returns the exit code
 */
function reasonToStop(log: Logger): Promise<0 | 1> {
  return new Promise((resolve) => {
    const stop = (): void => resolve(0);
    process.on('SIGTERM', stop).on('SIGINT', stop);
    // Node raises a rejection that nothing handles here, too.
    process.on('uncaughtException', (error, origin) => {
      log.fatal({ origin, causes: describeCauses(error) }, 'an error was not caught; the process stops');
      resolve(1);
    });
  });
}
