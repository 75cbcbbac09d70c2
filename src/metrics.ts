import type { Metrics } from './adapters/metrics/createMetrics.js';

/** What is counted in this process; undefined while METRICS_PORT is not set, so that counting costs nothing. */
export let metrics: Metrics | undefined;

/** Starts counting. Called before anything is opened that counts. */
export function startMetrics(created: Metrics): void {
  metrics = created;
}
