import type { Pool } from 'pg';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of this process. Label values come from short known lists: never ids, never data. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Gauges of prom-client that are left out: their names end like counters, which Prometheus' naming rules forbid. */
const MISNAMED = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

/** Histogram buckets in seconds; the last ones are for uploads, which may take 70. */
const DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 75];

/** pg's error message if no connection of a pool becomes free in time. */
const NO_CONNECTION = 'timeout exceeded when trying to connect';

const countersIn =
  (registers: Registry[]) =>
  <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });

export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const registers = [registry];
  const counter = countersIn(registers);
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
    limitHits: counter('ces_limit_hits_total', 'Requests refused with 429 by the limit that was hit', 'limit'),
    limiterFallback: new Gauge({
      name: 'ces_limiter_fallback',
      help: '1 while limits are counted by each process alone because the shared counter does not answer',
      aggregator: 'max',
      registers,
    }),
    events: counter('ces_events_written_total', 'Events written by type', 'type'),
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
    ...poolMetrics(registers),
  };
}

function poolMetrics(registers: Registry[]) {
  const counter = countersIn(registers);
  const pools: { name: string; pool: Pool }[] = [];
  const statements = counter('ces_database_statements_total', 'Statements sent to PostgreSQL', 'pool');
  const timeoutsHelp = 'Attempts to get a connection that waited too long';
  const timeouts = counter('ces_database_pool_timeouts_total', timeoutsHelp, 'pool');
  new Gauge({
    name: 'ces_database_connections',
    help: 'Connections of a pool by state',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const { name, pool } of pools) {
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
      for (const { name, pool } of pools) this.set({ pool: name }, pool.waitingCount);
    },
  });
  return {
    /**
     * Observes a pool from before its first connection. pg has no hooks for this, so the pool's methods are wrapped.
     */
    watchPool(name: string, pool: Pool): void {
      pools.push({ name, pool });
      statements.inc({ pool: name }, 0);
      timeouts.inc({ pool: name }, 0);
      pool.on('connect', (client) => {
        const prototype = Object.getPrototypeOf(client) as typeof client;
        const counted = (...args: unknown[]): unknown => {
          statements.inc({ pool: name });
          return Reflect.apply(prototype.query, client, args);
        };
        Object.assign(client, { query: counted });
      });
      const connect = pool.connect.bind(pool);
      const note = (error: unknown): void => {
        if (error instanceof Error && error.message === NO_CONNECTION) timeouts.inc({ pool: name });
      };
      // pg itself calls `connect` with a callback (in `pool.query`); other callers await it.
      const counted = (callback?: Parameters<typeof connect>[0]): unknown => {
        if (callback) return connect((error, ...rest) => (note(error), callback(error, ...rest)));
        const connection = connect();
        connection.catch(note);
        return connection;
      };
      Object.assign(pool, { connect: counted });
    },
  };
}
