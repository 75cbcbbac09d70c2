/**
 * `make mutants`: breaks one guarantee at a time in a copy of the tree, and runs the tests that should then fail. Fails
 * if a mutant survives or the list is out of date. `make mutants ARGS='token|claim'` selects mutants.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { mutants } from './list.js';
import { locate } from './locate.js';

/** The part of jest's `--json` report that is read here. */
interface Report {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly failureMessages: readonly string[] }[];
  }[];
}

const LANES = 2;
const root = join(import.meta.dirname, '../..');
const left = ['node_modules', '.git', '.data', 'generated/build'];

/** Copies the tree, to change the copy. After a crash, the copy stays in the system's temporary folder. */
function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'ces-mutants-'));
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
  cpSync(root, copy, { recursive: true, filter: (path) => !left.includes(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

async function runTests(copy: string, tests: readonly string[], ...options: readonly string[]): Promise<Report> {
  const result = join(copy, 'mutants.json');
  // Write a failure first: a run that does not start writes no report. With --bail there would be none either.
  writeFileSync(result, '{ "success": false, "testResults": [] }');
  const files = [`--outputFile=${result}`, `--cacheDirectory=${join(copy, '.jest')}`];
  const jest = ['--json', ...files, '--testTimeout=120000', '--forceExit', ...options, ...new Set(tests)];
  // Use a separate process group, so that the tests' own processes end with this one, too.
  const child = spawn('npm', ['test', '--silent', '--', ...jest], { cwd: copy, stdio: 'ignore', detached: true });
  const stop = () => child.pid !== undefined && process.kill(-child.pid);
  process.prependOnceListener('exit', stop);
  await once(child, 'exit');
  process.off('exit', stop);
  return JSON.parse(readFileSync(result, 'utf8')) as Report;
}

/** Only a failed assertion kills a mutant: a timeout or a file that does not load says nothing about the guarantee. */
function verdictOf({ success, testResults }: Report): string {
  const failures = testResults.flatMap((file) => file.assertionResults).flatMap((one) => one.failureMessages);
  if (failures.some((message) => message.includes('expect('))) return 'killed';
  return success ? 'SURVIVED' : 'NO VERDICT';
}

function exitWith(lines: readonly string[]): never {
  process.stderr.write(`${lines.join('\n')}\n`);
  process.exit(1);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const chosen = mutants.filter(({ name }) => new RegExp(process.argv[2] ?? '').test(name));
if (chosen.length === 0) exitWith(['no mutant has that name']);
const located = chosen.map((mutant) => ({ ...mutant, change: locate(mutant) }));
const faults = located.flatMap(({ name, change }) => (typeof change === 'string' ? [`${name}: ${change}`] : []));
if (faults.length > 0) exitWith(['scripts/mutants/list.ts is out of date:', ...faults]);
const row = (name: string, verdict: string, start: number): string =>
  `${name.padEnd(36)} ${verdict.padEnd(10)} ${((Date.now() - start) / 1000).toFixed(0).padStart(4)} s\n`;
const copies = Array.from({ length: LANES }, copyTree);
const begin = Date.now();
const allTests = chosen.flatMap(({ tests }) => tests);
const unchanged = await runTests(copies[0] ?? '', allTests);
if (!unchanged.success) exitWith(['Without a mutant:', ...unchanged.testResults.map(({ message }) => message)]);
process.stdout.write(row('(no mutant)', 'green', begin));
let killed = 0;
const queue = located[Symbol.iterator]();
await Promise.all(
  copies.map(async (copy) => {
    for (const { name, tests, change } of queue) {
      if (typeof change === 'string') continue;
      const start = Date.now();
      writeFileSync(join(copy, change.file), change.after);
      const verdict = verdictOf(await runTests(copy, tests, '--maxWorkers=1'));
      writeFileSync(join(copy, change.file), change.before);
      if (verdict === 'killed') killed += 1;
      process.stdout.write(row(name, verdict, start));
    }
  }),
);
process.stdout.write(`${killed} of ${chosen.length} killed\n`);
process.exitCode = killed === chosen.length ? 0 : 1;
