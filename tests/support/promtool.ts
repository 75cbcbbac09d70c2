import { spawnSync } from 'node:child_process';
import { isThere, packages } from './optional.js';

/** Whether this machine has Prometheus' checker; as {@link isThere}. */
export function hasPromtool(): boolean {
  const found = spawnSync('promtool', ['--version']).status === 0;
  return isThere(found, "Prometheus' checks of the metrics and the alert rules", packages('prometheus'));
}

/** The complaints of promtool about its input; empty if it has none. */
export function promtool(args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return status === 0 ? '' : stdout + stderr || 'promtool failed';
}
