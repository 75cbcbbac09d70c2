import { spawnSync } from 'node:child_process';

/**
 * Whether this machine has Prometheus' checker; says plainly on standard error when it has not.
 * @throws Error when it has not and REQUIRE_PROMTOOL is set, as in CI: nothing may be skipped there
 */
export function hasPromtool(): boolean {
  const found = spawnSync('promtool', ['--version']).status === 0;
  if (!found) {
    const advice = 'Install it: apt-get install --no-install-recommends prometheus';
    if (process.env['REQUIRE_PROMTOOL']) throw new Error(`REQUIRE_PROMTOOL is set and there is no promtool. ${advice}`);
    process.stderr.write(`SKIPPED: Prometheus' checks of the metrics and the alert rules. ${advice}\n`);
  }
  return found;
}

/** What promtool says against its input; empty when all is well. */
export function promtool(args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return status === 0 ? '' : stdout + stderr || 'promtool failed';
}
