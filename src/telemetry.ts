import type { Metrics } from './adapters/metrics/createMetrics.js';
import type { Tracing } from './adapters/tracing/startTracing.js';

/** What is counted in this process; undefined while METRICS_PORT is not set, so that counting costs nothing. */
export let metrics: Metrics | undefined;

/** Where spans of requests go; undefined while OTEL_EXPORTER_OTLP_ENDPOINT is not set, so that they cost nothing. */
export let tracing: Tracing | undefined;

/** Turns on what is given. Called before anything is opened that counts. */
export function startTelemetry(parts: { metrics?: Metrics; tracing?: Tracing }): void {
  metrics = parts.metrics ?? metrics;
  tracing = parts.tracing ?? tracing;
}
