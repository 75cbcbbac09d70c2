import { execFileSync } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';
import { temporaryFolder } from '../support/folder.js';
import { useHarness } from '../support/harness.js';
import { installClient } from '../support/packedClient.js';

const source = fileURLToPath(new URL('src/client', packageRoot));

it('the source of the client is below 20 kB and imports only the contract and openapi-fetch', async () => {
  const names = (await readdir(source)).filter((name) => name.endsWith('.ts'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(source, name))).size));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(20_000);
  const texts = await Promise.all(names.map((name) => readFile(join(source, name), 'utf8')));
  const imported = texts.flatMap((text) => [...text.matchAll(/from '([^']+)'/g)].map(([, from = '']) => from));
  const foreign = imported.filter((from) => !/^\.\/\w+\.js$/.test(from));
  const allowed = ['openapi-fetch', '../../generated/client/contract.js', '../../generated/client/values.js'];
  expect([...new Set(foreign)].sort()).toEqual(allowed.sort());
});

describe('GET /docs/clinical-encounter-client.tgz', () => {
  const harness = useHarness();
  const newFolder = temporaryFolder();

  it('serves a package that ES modules import and CommonJS requires', async () => {
    const folder = newFolder();
    const archive = join(folder, 'client.tgz');
    const response = await fetch(`${harness.baseUrl}/docs/clinical-encounter-client.tgz`);
    await writeFile(archive, Buffer.from(await response.arrayBuffer()));
    await installClient(folder, archive);
    const show =
      "console.log(typeof createClient({ baseUrl: 'http://127.0.0.1', clientId: '', clientSecret: '' }).get)";
    const load = {
      module: "import { createClient } from 'clinical-encounter-client';",
      commonjs: "const { createClient } = require('clinical-encounter-client');",
    };
    for (const [type, first] of Object.entries(load)) {
      const args = ['--disable-warning=ExperimentalWarning', `--input-type=${type}`, '--eval', `${first} ${show}`];
      expect([type, execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })]).toEqual([
        type,
        'function\n',
      ]);
    }
  });
});
