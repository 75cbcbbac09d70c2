import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { startHarness, type Harness } from '../support/harness.js';
import { newSandbox } from '../support/sandbox.js';

const run = promisify(execFile);
const root = fileURLToPath(packageRoot);
const source = join(root, 'src/client');

let harness: Harness;
let folder: string;
beforeAll(async () => {
  harness = await startHarness();
  folder = await mkdtemp(join(tmpdir(), 'ces-client-'));
});
afterAll(async () => {
  await harness.close();
  await rm(folder, { recursive: true });
});

it('the packed client compiles and runs the example of its README without anything of the server', async () => {
  const packed = join(folder, 'packed');
  await run(process.execPath, ['--import', 'tsx', 'scripts/client.ts', packed], { cwd: root });
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: packed });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  const modules = join(folder, 'node_modules');
  const installed = join(modules, 'clinical-encounter-client');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);
  // Its one dependency, and what the example is compiled with.
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types', 'undici-types']) {
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  const [, example = ''] = /```ts\n(.*?)```/s.exec(await readFile(join(installed, 'README.md'), 'utf8')) ?? [];
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(join(folder, 'example.ts'), example);
  const strict = [
    '--strict',
    '--noUncheckedIndexedAccess',
    '--target',
    'ES2022',
    '--module',
    'NodeNext',
    '--types',
    'node',
  ];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, ...strict, 'example.ts'], { cwd: folder }).catch((error: unknown) => {
    throw new Error((error as { stdout: string }).stdout);
  });
  const { clientId, clientSecret } = await newSandbox(harness);
  const env = { CES_URL: harness.baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, PATH: process.env['PATH'] };
  for (const time of ['first', 'second']) {
    const { stdout: printed } = await run(process.execPath, ['example.js'], { cwd: folder, env });
    expect([time, printed]).toEqual([time, expect.stringMatching(/^GFE-\d+ pending_review\n/)]);
    expect(printed).toContain('encounter.created');
  }
}, 60_000);

it('our own code of the client is less than 15 kB and imports nothing but the contract and openapi-fetch', async () => {
  const names = (await readdir(source)).filter((name) => name.endsWith('.ts'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(source, name))).size));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(15_000);
  const texts = await Promise.all(names.map((name) => readFile(join(source, name), 'utf8')));
  const imported = texts.flatMap((text) => [...text.matchAll(/from '([^']+)'/g)].map(([, from = '']) => from));
  const foreign = imported.filter((from) => !/^\.\/\w+\.js$/.test(from));
  const allowed = ['openapi-fetch', '../../generated/client/contract.js', '../../generated/client/values.js'];
  expect([...new Set(foreign)].sort()).toEqual(allowed.sort());
});
