import type { Metrics } from './adapters/metrics/createMetrics.js';

/** The counters of this process; undefined without METRICS_PORT, so that counting costs nothing. */
export let metrics: Metrics | undefined;

/** Call this first: code that counts reads `metrics` when it opens. */
export function startTelemetry(created: Metrics): void {
  metrics = created;
}
