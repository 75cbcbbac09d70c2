import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../src/packageRoot.js';
import { portOf } from '../support/fileHost.js';

// Runs the real Makefile with stand-ins for the programs: a real installation takes a minute.

const COPIED = [
  'Makefile',
  'package.json',
  'package-lock.json',
  'tests/package.json',
  'scripts/nodeVersion.cjs',
  'scripts/ces',
  'scripts/serve',
];

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ces-make-'));
  for (const name of COPIED) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await copyFile(new URL(name, packageRoot), join(folder, name));
  }
  await program('bin/npm', 'echo noise of npm');
  const docs =
    'mkdir -p generated/docs/workbench generated/prisma; cd generated/docs; touch index.html workbench/main.js clinical-encounter-client.tgz';
  await program('node_modules/.bin/tsx', `echo noise of $1; ${docs}`);
  await program('node_modules/.bin/esbuild', 'echo noise of esbuild');
  for (const name of ['scripts/generate.ts', 'scripts/docs.ts', 'tsconfig.json']) {
    await writeFile(join(folder, name), '');
  }
  await mkdir(join(folder, 'src'));
  await mkdir(join(folder, 'generated/build/src'), { recursive: true });
  await writeFile(join(folder, 'generated/build/src/main.js'), 'console.log("serving");');
  await mkdir(join(folder, 'generated/build/src/cli'));
  await writeFile(join(folder, 'generated/build/src/cli/main.js'), '');
});

afterEach(() => rm(folder, { recursive: true }));

async function program(name: string, script: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, name), 0o755);
}

/** Runs a command line in the folder; on any free port unless PORT names one. */
function run(command: string, environment: Record<string, string> = {}) {
  // Set HOME to this folder: under Node, bash's input is a socket, so bash would read the user's start-up file.
  const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, HOME: folder, PORT: '0', ...environment };
  return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile('bash', ['-c', command], { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

it('"make start" prints each step with its seconds before the server starts, and starts it immediately the next time', async () => {
  const { stdout, ...ended } = await run('make start');
  expect(ended).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Installing the packages … \d+ s\nGenerating code .* … \d+ s\n/);
  expect(stdout).toMatch(/\nCompiling the service … \d+ s\n/);
  expect(stdout).toMatch(/\nserving\n$/);
  expect(await run('make start')).toEqual({ code: 0, stdout: 'serving\n', stderr: '' });
});

it('"make start" installs only its own packages, and "make install" adds those of the tests without removing any', async () => {
  await program('bin/npm', 'echo "npm $*" >>npm.log');
  await run('make start');
  await run('make install');
  expect(await readFile(join(folder, 'npm.log'), 'utf8')).toBe('npm ci --workspaces=false\nnpm install --no-save\n');
});

it('"make install" installs all packages at once in a new clone', async () => {
  await program('bin/npm', 'echo "npm $*" >>npm.log');
  await run('make install');
  expect(await readFile(join(folder, 'npm.log'), 'utf8')).toBe('npm ci\n');
});

it('"make start" stops at a step that fails, and shows its output', async () => {
  await program('bin/npm', 'echo what npm says; exit 1');
  const { code, stdout, stderr } = await run('make start');
  expect({ code, stdout }).toEqual({ code: 2, stdout: expect.stringMatching(/^Installing .* … $/) });
  expect(stderr).toMatch(/^what npm says\n/);
});

it('"make start" refuses a PORT that is in use before it installs packages, and says what to do', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const port = String(portOf(other.address()));
  const { code, stdout, stderr } = await run('make start', { PORT: port });
  other.close();
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(new RegExp(`^PORT ${port} is in use: stop .* or choose another one`));
});

it('make and the programs refuse an older Node before any other step, and name its version', async () => {
  const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.9.0' } });`;
  await writeFile(join(folder, 'older.cjs'), older);
  for (const command of ['make start', 'make lint', 'scripts/serve', 'scripts/ces']) {
    const { code, stdout, stderr } = await run(command, { NODE_OPTIONS: `--require=${join(folder, 'older.cjs')}` });
    expect({ command, failed: code !== 0, stdout }).toEqual({ command, failed: true, stdout: '' });
    expect(stderr).toMatch(/^Node\.js 20\.9\.0 is too old: install 20\.19 or newer/);
  }
});

it('.nvmrc names Node 20.19 or newer, as the service needs', async () => {
  const wanted = (await readFile(new URL('.nvmrc', packageRoot), 'utf8')).trim();
  expect(wanted.localeCompare('20.19', 'en', { numeric: true })).toBeGreaterThanOrEqual(0);
});
