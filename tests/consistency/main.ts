/**
 * `make consistency SEEDS=100`: plays seeds, each with faults of its own, and writes REPORT.md. `SEED=7 SEEDS=1` plays one
 * seed again; `CLIENTS=a,b` and `OPERATIONS=10` make it smaller. A seed fixes the random draws, not how requests interleave.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { killServers } from '../support/serverProcess.js';
import { openCluster } from './cluster.js';
import { reportOf } from './report.js';
import { runSeed, type Run, type RunOptions } from './run.js';

const number = (name: string, fallback: number): number => Number(process.env[name] ?? fallback);
const first = number('SEED', 1);
/** Intents of each client. */
const OPERATIONS = 45;
const operations = number('OPERATIONS', OPERATIONS);
const only = process.env['CLIENTS']?.split(',');
const count = number('SEEDS', 3);
const withFaults = process.env['FAULTS'] !== 'off';
/** A part of the seeds, of the clients or of the faults is not a report. */
const isWhole = only === undefined && first === 1 && count > 1 && operations === OPERATIONS && withFaults;
const cluster = await openCluster();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    const stopped = Promise.allSettled([killServers()]).then(() => cluster.close());
    void stopped.finally(() => process.exit(1));
  });
}
const runs: Run[] = [];
const print = (text: string): unknown => process.stdout.write(`${text}\n`);

/** Looks for a smaller run that fails, too: fewer operations, then without one tenant after the other. */
async function minimised(failed: RunOptions): Promise<RunOptions> {
  let least = failed;
  const names = cluster.tenants.map(({ clients }) => clients.map(({ name }) => name));
  const smaller: ((options: RunOptions) => RunOptions)[] = [
    ...Array(3).fill((options: RunOptions) => ({ ...options, operations: Math.ceil(options.operations / 2) })),
    ...names.map((tenant) => (options: RunOptions) => {
      return { ...options, only: (options.only ?? names.flat()).filter((name) => !tenant.includes(name)) };
    }),
  ];
  for (const shrink of smaller) {
    const options = shrink(least);
    if (options.only?.length === 0) continue;
    const { requests, anomalies } = await runSeed(cluster, options);
    print(
      `  ${requests} requests of ${options.only?.length ?? names.flat().length} clients: ${anomalies.length} anomalies`,
    );
    if (anomalies.length > 0) least = options;
  }
  return least;
}

for (let seed = first; seed < first + count; seed += 1) {
  const options: RunOptions = { seed, operations, only, servers: 2, withFaults };
  const run = await runSeed(cluster, options);
  runs.push(run);
  // After each seed, so that an interrupted run leaves a report.
  if (isWhole) writeFileSync(join(import.meta.dirname, 'REPORT.md'), reportOf(runs));
  const { requests, unknown, anomalies, seconds, auditSeconds, file } = run;
  print(
    `seed ${seed}: ${requests} requests, ${unknown} without a final response, ${anomalies.length} anomalies, ${seconds.toFixed(0)} s (auditor: ${auditSeconds.toFixed(1)} s, ${Math.round(process.resourceUsage().maxRSS / 1_024)} MB)`,
  );
  if (anomalies.length === 0) continue;
  anomalies.slice(0, 10).forEach(print);
  const least = process.env['MINIMISE'] === 'off' ? options : await minimised(options);
  const clients = least.only ? ` CLIENTS=${least.only.join()}` : '';
  print(
    `Every request is in ${file}. Play it again: make consistency SEED=${seed} SEEDS=1 OPERATIONS=${least.operations}${clients}`,
  );
}
await cluster.close();
process.exit(runs.some(({ anomalies }) => anomalies.length > 0) ? 1 : 0);
