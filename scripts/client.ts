/**
 * Packs the TypeScript client of `src/client`, with the contract's types, into generated/client/package. The package
 * needs nothing of the server. Also packs that folder into an archive, which the service offers (D-168).
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..');
const target = join(root, 'generated/client/package');
const docs = join(root, 'generated/docs');
const compiled = await mkdtemp(join(tmpdir(), 'ces-client-'));

const tsc = join(root, 'node_modules/typescript/bin/tsc');
// `make typecheck` checks the types. Compile src/client/bin apart: only its configuration includes the types of Node.
await promisify(execFile)(process.execPath, [tsc, '-p', 'src/client', '--noCheck', '--outDir', compiled], {
  cwd: root,
});
await promisify(execFile)(process.execPath, [tsc, '-p', 'src/client/bin', '--noCheck', '--outDir', compiled], {
  cwd: root,
});

await rm(target, { recursive: true, force: true });
await mkdir(join(target, 'bin'), { recursive: true });
for (const from of ['src/client', 'src/client/bin', 'generated/client']) {
  for (const name of await readdir(join(compiled, from))) {
    if (name === 'bin') continue;
    const text = await readFile(join(compiled, from, name), 'utf8');
    const to = join(target, from.endsWith('bin') ? 'bin' : '.', name);
    await writeFile(to, text.replaceAll('../../generated/client/', './'));
  }
}
await cp(join(root, 'generated/client/contract.d.ts'), join(target, 'contract.d.ts'));
await cp(join(root, 'src/client/README.md'), join(target, 'README.md'));

interface Manifest {
  readonly devDependencies: Readonly<Record<string, string>>;
}
const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
const contract = JSON.parse(await readFile(join(root, 'generated/openapi.json'), 'utf8')) as {
  info: { version: string };
};
const manifest = {
  name: 'clinical-encounter-client',
  version: contract.info.version,
  // Prevents accidental publishing.
  private: true,
  description: 'Client of the Clinical Encounter Service, typed by its contract.',
  type: 'module',
  exports: { '.': { types: './index.d.ts', default: './index.js' } },
  bin: './bin/main.js',
  sideEffects: false,
  engines: { node: '>=20.18' },
  dependencies: { 'openapi-fetch': devDependencies['openapi-fetch'] },
};
await writeFile(join(target, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
await promisify(execFile)('npm', ['pack', target, '--pack-destination', docs, '--silent']);
// Remove the version from the file's name: the service offers the file at addresses with and without it.
await rename(join(docs, `${manifest.name}-${manifest.version}.tgz`), join(docs, `${manifest.name}.tgz`));
await rm(compiled, { recursive: true });
process.stdout.write(`${target}\n`);
