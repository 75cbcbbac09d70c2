import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { breakingChanges, changedFiles, release, releasedVersions } from '../../scripts/releases.js';
import { packageRoot } from '../../src/packageRoot.js';
import { temporaryFolder } from '../support/folder.js';

const root = fileURLToPath(packageRoot);
const folder = temporaryFolder();
let number = 0;

const migration = 'prisma/migrations/20270101000000_initial/migration.sql';
const record = 'generated/released/1.0.0.json';
const manifest = 'generated/released/manifest.json';
const allowed = 'openapi/allowedChanges.json';

/** A contract with one operation, whose response has these properties. */
const contractWith = (properties: object, paths: object = {}): object => ({
  openapi: '3.1.0',
  info: { title: 'Clinics', version: '1.0.0' },
  paths: {
    '/clinics': {
      get: {
        operationId: 'listClinics',
        responses: {
          200: {
            description: 'Clinics.',
            content: { 'application/json': { schema: { type: 'object', required: ['name'], properties } } },
          },
        },
      },
    },
    ...paths,
  },
});
const name = { type: 'string' };

/** A repository of which 1.0.0 is released, and functions that change its files. */
async function newRepository() {
  number += 1;
  const path = folder(String(number));
  const write = async (file: string, content: unknown): Promise<void> => {
    await mkdir(dirname(`${path}/${file}`), { recursive: true });
    await writeFile(`${path}/${file}`, typeof content === 'string' ? content : JSON.stringify(content));
  };
  await write('package.json', { version: '1.0.0' });
  await write('generated/openapi.json', contractWith({ name }));
  await write(migration, '-- Locks: none\n');
  await write(manifest, {});
  await write(allowed, []);
  expect(await release(path)).toBe('1.0.0');
  return { path, write };
}

describe('released files', () => {
  it('are unchanged since their release', async () => {
    expect(await changedFiles(root)).toEqual([]);
  });

  it('are the contract and the migrations', async () => {
    const { path } = await newRepository();
    const files = Object.keys(JSON.parse(await readFile(`${path}/${manifest}`, 'utf8')) as object);
    expect(files).toEqual([record, migration]);
    expect(await releasedVersions(path)).toEqual(['1.0.0']);
    expect(await changedFiles(path)).toEqual([]);
  });

  it.each([migration, record])('are named if they change later: %s', async (file) => {
    const { path, write } = await newRepository();
    await write(file, '{}');
    expect(await changedFiles(path)).toEqual([
      `${file} was changed after its release: restore the released version from Git.`,
    ]);
    await write('package.json', { version: '1.1.0' });
    await expect(release(path)).rejects.toThrow(
      `${file} was changed after its release: restore the released version from Git.`,
    );
  });

  it('are named if the manifest lacks the record, or the record is gone', async () => {
    const { path, write } = await newRepository();
    await write('generated/released/0.9.0.json', {});
    const stray = `${manifest} lacks generated/released/0.9.0.json: if it was released, restore its checksum there; else delete the file.`;
    expect(await changedFiles(path)).toEqual([stray]);
    await write(manifest, { 'generated/released/0.9.0.json': 'x', 'generated/released/0.8.0.json': 'x' });
    expect(await changedFiles(path)).toContain(
      'generated/released/0.8.0.json was removed after its release: restore it from Git.',
    );
  });

  it('are not added for a candidate, nor twice', async () => {
    const { path, write } = await newRepository();
    await expect(release(path)).rejects.toThrow('1.0.0 is released already: set the version');
    await write('package.json', { version: '1.1.0-rc.1' });
    await expect(release(path)).rejects.toThrow('1.1.0-rc.1 is a candidate');
  });

  it('gain the next contract and the next migration, and keep the earlier ones', async () => {
    const { path, write } = await newRepository();
    await write('package.json', { version: '1.1.0' });
    await write('prisma/migrations/20270201000000_next/migration.sql', '-- Locks: none\n');
    await release(path);
    expect(await releasedVersions(path)).toEqual(['1.0.0', '1.1.0']);
    const files = Object.keys(JSON.parse(await readFile(`${path}/${manifest}`, 'utf8')) as object);
    expect(files).toContain('prisma/migrations/20270201000000_next/migration.sql');
    expect(await changedFiles(path)).toEqual([]);
  });
});

describe('the contract', () => {
  const removed = { release: '1.0.0', rule: 'path-removed', at: '#/paths/~1clinics' };

  it('may gain an operation and a property', async () => {
    const { path, write } = await newRepository();
    const more = { '/states': { get: { operationId: 'listStates', responses: { 204: { description: 'None.' } } } } };
    await write('generated/openapi.json', contractWith({ name, email: name }, more));
    expect(await breakingChanges(path)).toEqual([]);
  });

  it('may not lose an operation, unless the list of allowed changes states it', async () => {
    const { path, write } = await newRepository();
    await write('generated/openapi.json', { ...contractWith({}), paths: {} });
    const fault = `1.0.0: path-removed at #/paths/~1clinics: Path \`/clinics\` was removed. Undo this change, or allow it in ${allowed}.`;
    expect(await breakingChanges(path)).toEqual([fault]);
    await write(allowed, [{ ...removed, reason: 'It never worked.' }]);
    expect(await breakingChanges(path)).toEqual([]);
  });

  it('must make every change that the list of allowed changes states', async () => {
    const { path, write } = await newRepository();
    await write(allowed, [{ ...removed, reason: 'It never worked.' }]);
    const unused = `${allowed} allows a change that the contract does not make: remove 1.0.0: path-removed at #/paths/~1clinics`;
    expect(await breakingChanges(path)).toEqual([unused]);
  });
});
