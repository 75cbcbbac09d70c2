import { execFile } from 'node:child_process';

const reportToSystemd = (): unknown => execFile('systemd-notify', ['WATCHDOG=1'], () => undefined);

/**
 * Tells systemd that the event loop runs, three times per WatchdogSec: systemd restarts a server that hangs.
 * @param limit in microseconds, from WATCHDOG_USEC
 */
export function feedWatchdog(limit: string | undefined, report = reportToSystemd): void {
  if (limit === undefined) return;
  setInterval(report, Number(limit) / 3_000).unref();
}
