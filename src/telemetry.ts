import type { Metrics } from './adapters/metrics/createMetrics.js';
import type { Tracing } from './adapters/tracing/startTracing.js';

/** The counters of this process; undefined without METRICS_PORT, so that counting costs nothing. */
export let metrics: Metrics | undefined;

/** The tracer of requests; undefined without OTEL_EXPORTER_OTLP_ENDPOINT, so that tracing costs nothing. */
export let tracing: Tracing | undefined;

/** Call this first: some code reads `metrics` and `tracing` only once, when it starts. */
export function startTelemetry(parts: { metrics?: Metrics; tracing?: Tracing }): void {
  metrics = parts.metrics ?? metrics;
  tracing = parts.tracing ?? tracing;
}
