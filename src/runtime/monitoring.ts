import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Gauge, type Registry } from 'prom-client';
import { freeBytes } from '../adapters/dataDir.js';
import { createMetrics } from '../adapters/metrics/createMetrics.js';
import { jobCounts } from '../adapters/jobs/jobCounts.js';
import { backupAges } from '../domain/audit/backups.js';
import { checkpointDelay } from '../domain/audit/checkpoints.js';
import { webhookBacklog } from '../domain/webhooks/backlog.js';
import type { Config } from '../config.js';
import type { DomainContext } from '../context.js';
import { errorCode } from '../failures.js';
import { version } from '../packageRoot.js';
import { startTelemetry } from '../telemetry.js';
import { sharedFor } from './sharedFor.js';

/** Milliseconds that the page of metrics is cached, so that several scrapers cost the database no more than one. */
const PAGE_MS = 1_000;

type Sources = Pick<DomainContext, 'db'> & Pick<Config, 'dataDir'>;

export interface MetricsPage {
  readonly url: string;
  close(): void;
}

/** Starts counting; returns the function that serves the page of metrics. */
export function startMonitoring(place: NonNullable<Config['metrics']>): (sources: Sources) => Promise<MetricsPage> {
  const created = createMetrics();
  startTelemetry({ metrics: created });
  const { registry } = created;
  return (sources) => servePage(registry, place, addServerGauges(registry, sources));
}

/** Serves the page of metrics. @throws Error naming METRICS_HOST and METRICS_PORT */
async function servePage(
  registry: Registry,
  { host, port }: NonNullable<Config['metrics']>,
  refresh: () => Promise<void>,
): Promise<MetricsPage> {
  const page = sharedFor(PAGE_MS, () => refresh().then(() => registry.metrics()));
  const server = createServer((req, res) => {
    if (req.url !== '/metrics') return void res.writeHead(404).end();
    void page().then(
      (text) => res.writeHead(200, { 'Content-Type': registry.contentType }).end(text),
      () => res.writeHead(500).end(),
    );
  });
  await once(server.listen(port, host), 'listening').catch((cause: unknown) => {
    const advice =
      errorCode(cause) === 'EADDRINUSE'
        ? '. Set a free METRICS_PORT other than PORT, or stop the program that listens there.'
        : '. Correct them.';
    throw new Error(`Cannot listen on METRICS_HOST and METRICS_PORT: ${String(cause)}${advice}`, { cause });
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}/metrics`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Adds gauges of this server and of all. Returns a function that updates them and omits those that cannot be read. */
function addServerGauges(registry: Registry, { db, dataDir }: Sources): () => Promise<void> {
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const build = gauge('ces_build_info', 'Always 1; the labels are the versions', 'service_version', 'contract_version');
  build.set({ service_version: version, contract_version: version }, 1);
  const free = gauge('ces_data_dir_free_bytes', 'Free bytes of the disk that DATA_DIR is on');
  const jobs = gauge('ces_jobs', 'Jobs that are due, and jobs whose last run failed, on all servers', 'state');
  const oldest = gauge('ces_jobs_oldest_due_seconds', 'Seconds that the oldest due job has been waiting');
  const webhooks = gauge('ces_webhooks_waiting', 'Webhooks that wait for their first or next attempt, of all servers');
  const oldestHelp = 'Seconds that the oldest due webhook has been waiting';
  const oldestWebhook = gauge('ces_webhooks_oldest_due_seconds', oldestHelp);
  const eventsBehind = gauge('ces_webhook_events_behind', 'Events for which no webhooks were made yet, on all servers');
  const backups = gauge('ces_backup_age_seconds', 'Seconds since a backup was last created, and last verified', 'step');
  const readBackups = async (): Promise<void> => {
    for (const { step, age } of await backupAges({ db })) backups.set({ step }, age);
  };
  const checkpoint = gauge('ces_audit_checkpoint_delay_seconds', 'Age of the oldest audit row without a checkpoint');
  const readAudit = async (): Promise<void> => checkpoint.set((await checkpointDelay(db)) ?? 0);
  const readDisk = async (): Promise<void> => free.set(await freeBytes(dataDir));
  const readJobs = async (): Promise<void> => {
    const { due, failed, oldestSeconds } = await jobCounts(db);
    jobs.set({ state: 'due' }, due);
    jobs.set({ state: 'failed' }, failed);
    oldest.set(oldestSeconds);
  };
  const readWebhooks = async (): Promise<void> => {
    const { waiting, oldestSeconds, behind } = await webhookBacklog(db);
    eventsBehind.set(behind);
    webhooks.set(waiting);
    oldestWebhook.set(oldestSeconds);
  };
  return async () => {
    for (const single of [free, webhooks, oldestWebhook, eventsBehind, oldest, checkpoint]) single.remove();
    for (const labeled of [jobs, backups]) labeled.reset();
    await Promise.allSettled([readDisk(), readJobs(), readWebhooks(), readBackups(), readAudit()]);
  };
}
