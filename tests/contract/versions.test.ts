import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { releasedVersions } from '../../scripts/releases.js';
import { readMigrations } from '../../src/adapters/database/migrationFile.js';
import { GENERATION } from '../../src/adapters/database/migrations.js';
import { packageRoot } from '../../src/packageRoot.js';

const read = (file: string): Promise<string> => readFile(new URL(file, packageRoot), 'utf8');
const versionOf = async (file: string): Promise<unknown> =>
  (JSON.parse(await read(file)) as { version: unknown }).version;

const { version } = (JSON.parse(await read('generated/openapi.json')) as { info: { version: string } }).info;

it('package.json, lock file, workflows and the examples of API-Version and /healthz name the version of the contract', async () => {
  const inYaml = async (file: string, key: string): Promise<unknown> =>
    new RegExp(`^ *${key}: (.*)$`, 'm').exec(await read(file))?.[1];
  const inJson = [await versionOf('package.json'), await versionOf('package-lock.json')];
  const header = await inYaml('openapi/headers/ApiVersion.yaml', 'example');
  const alive = await inYaml('openapi/examples/getLiveness.200.ok.yaml', 'version');
  expect([...inJson, header, alive, await inYaml('openapi/arazzo.yaml', 'version')]).toEqual(Array(5).fill(version));
});

it('the changelog has a chapter for each released contract, and names the next release', async () => {
  const changelog = await read('openapi/CHANGELOG.md');
  const released = await releasedVersions(fileURLToPath(packageRoot));
  const chapters = [...changelog.matchAll(/^## (\d\S*) \(\d{4}-\d\d-\d\d\)$/gm)].map(([, number = '']) => number);
  expect(chapters.sort()).toEqual(released.sort());
  if (!released.includes(version))
    expect(changelog).toContain(`## Unreleased\n\nWill be ${version.replace(/-.*/, '')}.`);
});

it("the operator's list of releases begins with this version, its tag, last migration, generation and contract", async () => {
  const [, , first = ''] = (await read('scripts/production/releases.md'))
    .split('\n')
    .filter((line) => line.startsWith('|'));
  const migration = (await readMigrations()).at(-1)?.name;
  expect(first).toContain(`| ${version} | \`v${version}\` | \`${migration}\` | ${GENERATION} | ${version} |`);
});
