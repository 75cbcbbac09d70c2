/**
 * `make consistency-judge`: plants one fault after the other in a copy of the service, and plays seeds until the auditor
 * sees it. `ARGS='payment|event'` selects faults.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { openCluster } from './cluster.js';
import { planted, type Planted } from './planted.js';
import { runSeed } from './run.js';

/** Seeds for one fault. */
const SEEDS = Number(process.env['SEEDS'] ?? 6);

const root = join(import.meta.dirname, '../..');
const left = ['node_modules', '.git', '.data', 'tests', 'scripts', 'src'];
const copy = mkdtempSync(join(tmpdir(), 'ces-judge-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
cpSync(root, copy, { recursive: true, filter: (path) => !left.includes(relative(root, path)) });
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));

const outputOf = ({ file }: Planted): string => join(copy, 'generated/build/src', file.replace(/ts$/, 'js'));

/** Compiles the file with the fault into the copy. */
function plant(fault: Planted): void {
  const { name, file, search, replacement } = fault;
  const source = readFileSync(join(root, 'src', file), 'utf8');
  if (source.split(search).length !== 2) throw new Error(`${name}: its text must be in src/${file} once`);
  const code = source.replace(search, () => replacement);
  writeFileSync(outputOf(fault), transformSync(code, { loader: 'ts', format: 'esm', target: 'node20' }).code);
}

const chosen = planted.filter(({ name }) => new RegExp(process.argv[2] ?? '').test(name));
const cluster = await openCluster();
let found = 0;
for (const fault of chosen) {
  const original = readFileSync(outputOf(fault));
  plant(fault);
  const begun = Date.now();
  let anomaly: string | undefined;
  for (let seed = 1; seed <= SEEDS && anomaly === undefined; seed += 1) {
    // Few operations first, then more, and things that break.
    const options = {
      seed,
      operations: 10 + 5 * seed,
      servers: 1 as const,
      withFaults: seed > 2,
      root: pathToFileURL(`${copy}/`),
    };
    const run = await runSeed(cluster, options);
    [anomaly] = run.anomalies;
    rmSync(run.file, { force: true });
  }
  writeFileSync(outputOf(fault), original);
  if (anomaly !== undefined) found += 1;
  const seconds = ((Date.now() - begun) / 1_000).toFixed(0);
  process.stdout.write(`${fault.name.padEnd(40)} ${seconds.padStart(4)} s  ${anomaly?.slice(0, 160) ?? 'NOT FOUND'}\n`);
}
await cluster.close();
process.stdout.write(`${found} of ${chosen.length} found\n`);
process.exit(found === chosen.length ? 0 : 1);
