import { readdir, readFile } from 'node:fs/promises';
import { markSince, plannedRelease, type Versioned } from '../../scripts/since.js';
import { packageRoot } from '../../src/packageRoot.js';

const read = (file: string): Promise<string> => readFile(new URL(file, packageRoot), 'utf8');
const versionOf = async (file: string): Promise<unknown> =>
  (JSON.parse(await read(file)) as { version: unknown }).version;

const { version } = (JSON.parse(await read('generated/openapi.json')) as Versioned).info;

it('package.json, lock file, API-Version header, /healthz and workflows name the version of the contract', async () => {
  const inYaml = async (file: string, key: string): Promise<unknown> =>
    new RegExp(`^ *${key}: (.*)$`, 'm').exec(await read(file))?.[1];
  const inJson = [await versionOf('package.json'), await versionOf('package-lock.json')];
  const header = await inYaml('openapi/headers/ApiVersion.yaml', 'example');
  const alive = await inYaml('openapi/examples/getLiveness.200.ok.yaml', 'version');
  expect([...inJson, header, alive, await inYaml('openapi/arazzo.yaml', 'version')]).toEqual(Array(5).fill(version));
});

it('the changelog has a chapter for each released contract, and names the next release', async () => {
  const changelog = await read('openapi/CHANGELOG.md');
  const released = (await readdir(new URL('generated/released', packageRoot))).map((file) => file.replace('.json', ''));
  const chapters = [...changelog.matchAll(/^## (\d\S*) \(\d{4}-\d\d-\d\d\)$/gm)].map(([, number = '']) => number);
  expect(chapters.sort()).toEqual(released.sort());
  for (const number of released) {
    const contract = JSON.parse(await read(`generated/released/${number}.json`)) as Versioned;
    expect(contract.info.version).toBe(number);
  }
  if (!released.includes(version)) expect(changelog).toContain(`## Unreleased\n\nWill be ${plannedRelease(version)}.`);
});

it('the reference marks an operation and a field with the first release that has them', () => {
  const contractOf = (number: string, paths: string[], fields: string[]): Versioned => ({
    info: { version: number },
    paths: Object.fromEntries(paths.map((path) => [path, { get: {} }])),
    components: {
      schemas: { Order: { properties: Object.fromEntries(fields.map((field) => [field, {}])) } },
      parameters: {},
    },
  });
  const head = contractOf('1.2.0-rc.1', ['/a', '/b', '/c'], ['a', 'b', 'c']);
  markSince(head, [contractOf('1.0.0', ['/a'], ['a']), contractOf('1.1.0', ['/a', '/b'], ['a', 'b'])]);

  const since = (number: string): object => ({ 'x-badges': [{ name: `Since ${number}`, position: 'after' }] });
  expect(head.paths).toEqual({ '/a': { get: {} }, '/b': { get: since('1.1.0') }, '/c': { get: since('1.2.0') } });
  expect(head.components.schemas['Order']).toEqual({ properties: { a: {}, b: since('1.1.0'), c: since('1.2.0') } });
});
