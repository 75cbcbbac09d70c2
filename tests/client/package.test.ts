import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { startHarness, type Harness } from '../support/harness.js';
import { compile, installClient } from '../support/packedClient.js';
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
  const installed = await installClient(folder);
  const [, example = ''] = /```ts\n(.*?)```/s.exec(await readFile(join(installed, 'README.md'), 'utf8')) ?? [];
  await writeFile(join(folder, 'example.ts'), example);
  await compile(folder, ['example.ts']);
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
