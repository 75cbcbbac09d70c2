/**
 * `make lab`: runs a deployment of several machines, as processes on loopback, under load while one fault after the
 * other happens. Prints what callers saw and what a check of all acknowledged changes found. Fails if a change is lost
 * or stored twice, if the feed has a gap, or if the audit has a fault.
 */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openTenant, type Line } from './load.js';
import { startLab } from './parts.js';
import { scenarios } from './scenarios.js';
import { SOAK, soak } from './soak.js';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '60' },
    seconds: { type: 'string', default: '10' },
    only: { type: 'string', default: '' },
    minutes: { type: 'string', default: '30' },
    pooler: { type: 'boolean', default: false },
  },
});
const faultMs = Number(values.seconds) * 1_000;
/** Milliseconds of load before and after a fault. */
const CALM_MS = 3_000;

const print = (text: string): unknown => process.stdout.write(`${text}\n`);
const row = (cells: readonly unknown[]): void => void print(`| ${cells.join(' | ')} |`);
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function report(name: string, { others, ...line }: Line): void {
  const listed = Object.entries(others).map(([status, count]) => `${status}: ${count}`);
  const counts = [line.requests, line.ok, line.unavailable, listed.join(', ') || 0];
  row([name, ...counts, seconds(line.slowest), seconds(line.gap), line.acknowledged, line.lost, line.twice]);
}

const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]).then(() => {
  throw new Error('interrupted');
});
print('Starting haproxy, three servers, PostgreSQL with a synchronous standby, Redis and S3 …');
const lab = await startLab({ withPooler: values.pooler });
const run = async (): Promise<void> => {
  const tenant = await openTenant(lab, Number(values.rate));
  row(['fault', 'requests', '2xx', '503', 'other', 'slowest', 'longest gap', 'acknowledged', 'lost', 'twice']);
  row(Array.from({ length: 10 }, () => '---'));
  // Run the soak only if it is named, because it takes too long.
  const chosen =
    values.only === SOAK
      ? { [SOAK]: () => soak(lab, Number(values.minutes), print) }
      : Object.fromEntries(Object.entries(scenarios).filter(([name]) => name.includes(values.only)));
  for (const [name, breakAndMend] of Object.entries(chosen)) {
    await lab.healthy();
    const line = await tenant.during(async () => {
      await delay(CALM_MS);
      await breakAndMend(lab, faultMs);
      await delay(CALM_MS);
    });
    report(name, line);
    if (line.lost + line.twice > 0) process.exitCode = 1;
  }
  const { text, isSound } = await tenant.verdict();
  print(text);
  if (!isSound) process.exitCode = 1;
};
await Promise.race([run(), interrupted]).catch((error: unknown) => {
  process.exitCode = 1;
  process.stderr.write(`${String(error)}\n`);
});
await lab.close();
process.exit();
