import type { Pool } from 'pg';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of this process. Label values come from short known lists: never ids of records, never data. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Gauges of prom-client that are left out: their names end like counters, which Prometheus' naming rules forbid. */
const MISNAMED = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

/** Histogram buckets in seconds; the last ones are for uploads, which may take 70. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 75];

export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  return {
    registry,
    /** The label `operation` is the operationId or "none"; the label `status` is "none" without a response. */
    requests: new Histogram({
      name: 'ces_http_request_duration_seconds',
      help: 'Requests by operation and status, from their first byte to the end of the response',
      labelNames: ['operation', 'status'],
      buckets: DURATIONS,
      registers,
    }),
    limitHits: counter(
      'ces_limit_hits_total',
      "Requests refused with 429, by limit, or (tenant) with 503 because of the tenant's own load",
      'limit',
    ),
    limiterFallback: new Gauge({
      name: 'ces_limiter_fallback',
      help: '1 while limits are counted by each process alone because the shared counter does not answer',
      aggregator: 'max',
      registers,
    }),
    failedLogins: counter('ces_failed_logins_total', 'Token requests with wrong credentials'),
    events: counter('ces_events_written_total', 'Events written, by type', 'type'),
    lostLogLines: counter('ces_log_lines_lost_total', 'Lines of the log that standard output did not take'),
    auditBatches: counter('ces_audit_batches_total', 'Batches of audit records by outcome', 'outcome'),
    jobRuns: counter('ces_job_runs_total', 'Runs of jobs by outcome', 'job', 'outcome'),
    documentFetches: counter('ces_document_fetches_total', 'Fetches of documents by outcome', 'outcome'),
    storeCalls: counter('ces_object_store_calls_total', 'Calls of the object store by outcome', 'call', 'outcome'),
    webhookAttempts: new Histogram({
      name: 'ces_webhook_attempt_duration_seconds',
      help: 'Attempts to deliver a webhook by outcome',
      labelNames: ['outcome'],
      buckets: DURATIONS,
      registers,
    }),
    watchPool: poolGauges(registers),
  };
}

/** Adds the gauges of connections. @returns the function that adds a pool to them */
function poolGauges(registers: Registry[]): (name: string, pool: Pool) => void {
  const pools = new Map<string, Pool>();
  new Gauge({
    name: 'ces_database_connections',
    help: 'Connections of a pool by state',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [name, pool] of pools) {
        this.set({ pool: name, state: 'used' }, pool.totalCount - pool.idleCount);
        this.set({ pool: name, state: 'idle' }, pool.idleCount);
      }
    },
  });
  new Gauge({
    name: 'ces_database_waiting',
    help: 'Callers that wait for a connection of a pool',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [name, pool] of pools) this.set({ pool: name }, pool.waitingCount);
    },
  });
  return (name, pool) => void pools.set(name, pool);
}
