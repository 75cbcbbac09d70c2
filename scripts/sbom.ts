/**
 * Prints the bill of materials (CycloneDX) of the packages that `npm ci --omit=dev` installs. npm creates it from a
 * lock file without the tools for development, because npm's own `--omit dev` also omits packages that both a tool and
 * the service need. With `--omit=optional`, lists what `npm ci --omit=dev --omit=optional` installs.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLockFile, runningPackages, type LockFile } from './licenses.js';

type Manifest = Record<'devDependencies' | 'workspaces', unknown>;

const withOptional = !process.argv.includes('--omit=optional');
const installed = ({ devDependencies: _tools, workspaces: _tests, ...rest }: Manifest): object => rest;

const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Manifest;
const lockFile: LockFile = await readLockFile();
const packages = runningPackages(lockFile).filter(
  ([, { optional, devOptional }]) => withOptional || !(optional ?? devOptional),
);
const root = installed(lockFile.packages[''] as Manifest);

const folder = await mkdtemp(join(tmpdir(), 'ces-sbom-'));
try {
  await writeFile(join(folder, 'package.json'), JSON.stringify(installed(manifest)));
  const reduced = { ...lockFile, packages: { '': root, ...Object.fromEntries(packages) } };
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify(reduced));
  const options = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  execFileSync('npm', options, { cwd: folder, stdio: 'inherit' });
} finally {
  await rm(folder, { recursive: true });
}
