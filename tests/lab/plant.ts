/**
 * `make mutants`: plants one fault after the other in a copy of the tree, and checks that the tests that the list names
 * or, with BY=auditor, the auditor of seeds notice it. `ARGS='token|claim'` selects faults by name.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { openCluster, type Cluster } from './cluster.js';
import { breakByChance } from './faults.js';
import { broken } from './locate.js';
import { planted, type Planted } from './planted.js';
import { play } from './play.js';

/** The part of jest's `--json` report that is read here. */
interface Report {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly failureMessages: readonly string[] }[];
  }[];
}

/** Plants a fault, judges whether it is noticed, and removes it. */
type Judge = (copy: string, fault: Planted) => Promise<string>;

const NOTICED = 'noticed';
/** Seeds for one fault. */
const SEEDS = Number(process.env['SEEDS'] ?? 6);
const root = join(import.meta.dirname, '../..');
const [by = 'tests', pattern = ''] = process.argv.slice(2);
const isForAuditor = by === 'auditor';
/** Tests must not use the build, which has no fault. */
const left = ['node_modules', '.git', '.data', ...(isForAuditor ? [] : ['generated/build'])];
const testsOf = ({ noticedBy }: Planted): readonly string[] => [noticedBy].flat();

/** Copies the tree, to change the copy. After a crash, the copy stays in the system's temporary folder. */
function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'ces-planted-'));
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
  cpSync(root, copy, { recursive: true, filter: (path) => !left.includes(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

async function runTests(copy: string, tests: readonly string[], ...options: readonly string[]): Promise<Report> {
  const result = join(copy, 'planted.json');
  // Write a failure first: a run that does not start writes no report. With --bail there would be none either.
  writeFileSync(result, '{ "success": false, "testResults": [] }');
  const files = [`--outputFile=${result}`, `--cacheDirectory=${join(copy, '.jest')}`];
  const jest = ['--json', ...files, '--forceExit', ...options, ...new Set(tests)];
  // Use a separate process group, so that the tests' own processes end with this one, too.
  const child = spawn('npm', ['test', '--silent', '--', ...jest], { cwd: copy, stdio: 'ignore', detached: true });
  const stop = () => child.pid !== undefined && process.kill(-child.pid);
  process.prependOnceListener('exit', stop);
  await once(child, 'exit');
  process.off('exit', stop);
  return JSON.parse(readFileSync(result, 'utf8')) as Report;
}

/** Only a failed assertion counts: a timeout or a file that does not load says nothing about the guarantee. */
const byTests: Judge = async (copy, fault) => {
  const file = join(copy, 'src', fault.where);
  writeFileSync(file, broken(fault));
  const { success, testResults } = await runTests(copy, testsOf(fault), '--maxWorkers=1');
  cpSync(join(root, 'src', fault.where), file);
  const failures = testResults.flatMap((each) => each.assertionResults).flatMap((each) => each.failureMessages);
  if (failures.some((message) => message.includes('expect('))) return NOTICED;
  return success ? 'NOT NOTICED' : 'NO VERDICT';
};

/** Plays seeds, first with few operations, then with more and with faults around the service. */
const byAuditor =
  (cluster: Cluster): Judge =>
  async (copy, fault) => {
    const output = join('generated/build/src', fault.where.replace(/ts$/, 'js'));
    const { code } = transformSync(broken(fault), { loader: 'ts', format: 'esm', target: 'node20' });
    writeFileSync(join(copy, output), code);
    let isNoticed = false;
    for (let seed = 1; seed <= SEEDS && !isNoticed; seed += 1) {
      const options = { seed, operations: 10 + 5 * seed, servers: 1, root: pathToFileURL(`${copy}/`) } as const;
      const { anomalies, file } = await play(cluster, options, async (world, over) =>
        seed > 2 ? breakByChance(world, seed, over) : once(over, 'abort'),
      );
      isNoticed = anomalies.length > 0;
      if (isNoticed) process.stdout.write(`${anomalies[0]?.slice(0, 160)}\n`);
      rmSync(file, { force: true });
    }
    cpSync(join(root, output), join(copy, output));
    return isNoticed ? NOTICED : 'NOT NOTICED';
  };

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const chosen = planted.filter(
  ({ name, noticedBy }) => (noticedBy === 'auditor') === isForAuditor && new RegExp(pattern).test(name),
);
if (chosen.length === 0)
  throw new Error(`no fault for BY=${by} has a name that matches ${pattern}: see tests/lab/planted*.ts`);
chosen.forEach(broken);
const cluster = isForAuditor ? await openCluster() : undefined;
const judge = cluster ? byAuditor(cluster) : byTests;
// Tests run in two copies at a time, each with its database; seeds run in one.
const copies = Array.from({ length: cluster ? 1 : 2 }, copyTree);
if (!cluster) {
  const { success, testResults } = await runTests(copies[0] ?? '', chosen.flatMap(testsOf));
  if (!success)
    throw new Error(
      ['The tests fail without any fault, so mend them first:', ...testResults.map(({ message }) => message)].join(
        '\n',
      ),
    );
}
let noticed = 0;
const queue = chosen[Symbol.iterator]();
await Promise.all(
  copies.map(async (copy) => {
    for (const fault of queue) {
      const begun = Date.now();
      const verdict = await judge(copy, fault);
      if (verdict === NOTICED) noticed += 1;
      const seconds = ((Date.now() - begun) / 1_000).toFixed(0);
      process.stdout.write(`${fault.name.padEnd(56)} ${verdict.padEnd(12)} ${seconds.padStart(4)} s\n`);
    }
  }),
);
await cluster?.close();
process.stdout.write(`${noticed} of ${chosen.length} noticed\n`);
process.exit(noticed === chosen.length ? 0 : 1);
