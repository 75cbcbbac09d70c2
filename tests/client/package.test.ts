import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';

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
