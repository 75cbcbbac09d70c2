/**
 * `make lab`: a deployment of several machines, as processes on loopback, under load while one fault after the other
 * happens; prints what callers saw. `make consistency`: plays seeds, each with other faults, and writes a report.
 * Either way, the auditor judges the whole history, and the command fails if there is an anomaly.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hasCitus } from '../support/citusCluster.js';
import { killServers } from '../support/serverProcess.js';
import { hasHaproxy } from './balancer.js';
import { citusFaults } from './citusFaults.js';
import { openCluster } from './cluster.js';
import { suffer, titles, type Row } from './eachFault.js';
import { breakByChance, faults } from './faults.js';
import { play, type Play } from './play.js';
import { reportOf, type SeedRun } from './report.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Requests per second. */
    rate: { type: 'string', default: '40' },
    /** The duration of a fault. */
    seconds: { type: 'string', default: '1' },
    /** Only faults whose name contains this. */
    only: { type: 'string', default: '' },
    /** On a cluster of Citus, with its own faults. */
    citus: { type: 'boolean', default: false },
  },
});
const number = (name: string, fallback: number): number => Number(process.env[name] ?? fallback);
const isConsistency = positionals[0] === 'consistency';
const print = (text: string): unknown => process.stdout.write(`${text}\n`);
if (values.citus && !hasCitus()) process.exit();
const cluster = await openCluster({ withStandby: !isConsistency, onCitus: values.citus });
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    const stopped = Promise.allSettled([killServers()]).then(() => cluster.close());
    void stopped.finally(() => process.exit(1));
  });
}

function report({ requests, unknown, anomalies, seconds, file }: Play<unknown>): void {
  print(
    `${requests} requests, ${unknown} without a final response, ${anomalies.length} anomalies, ${seconds.toFixed(0)} s`,
  );
  if (anomalies.length === 0) return;
  process.exitCode = 1;
  anomalies.slice(0, 10).forEach(print);
  print(`Every request is in ${file}`);
}

/** Each fault once, or those that are named. */
async function lab(): Promise<void> {
  const clients = cluster.tenants.flatMap((tenant) => tenant.clients).length;
  const isBalanced = hasHaproxy();
  const load = { seed: Date.now(), operations: Infinity, pauseMs: (1_000 * clients) / Number(values.rate) };
  const row = (cells: readonly unknown[]): unknown => print(`| ${cells.join(' | ')} |`);
  row(titles);
  row(titles.map(() => '---'));
  const played = await play(cluster, { ...load, servers: 3, isBalanced }, async (world, over) => {
    const rows: Row[] = [];
    const possible = (values.citus ? citusFaults : faults).filter(
      ({ name, isPossible }) => name.includes(values.only) && isPossible?.(world) !== false,
    );
    for (const fault of possible) {
      if (over.aborted) break;
      const suffered = await suffer(world, fault, Number(values.seconds) * 1_000);
      row([suffered.name, ...suffered.cells]);
      rows.push(suffered);
    }
    return rows;
  });
  const wrong = played.broken.flatMap(({ name, wrong: each }) => each.map((what) => `${name}: ${what}`));
  report({ ...played, anomalies: [...wrong, ...played.anomalies] });
}

async function consistency(): Promise<void> {
  const [first, count, operations] = [number('SEED', 1), number('SEEDS', 3), number('OPERATIONS', 45)];
  const runs: SeedRun[] = [];
  for (let seed = first; seed < first + count; seed += 1) {
    const load = { seed, operations, servers: 2 } as const;
    const run = await play(cluster, load, (world, over) => breakByChance(world, seed, over));
    runs.push({ seed, ...run });
    // Write the report after each seed, so that an interrupted run leaves one. A run of fewer seeds does not replace it.
    if (count >= 100) writeFileSync(join(import.meta.dirname, 'REPORT.md'), reportOf(runs));
    process.stdout.write(`seed ${seed}: `);
    report(run);
  }
}

await (isConsistency ? consistency() : lab());
await cluster.close();
process.exit();
