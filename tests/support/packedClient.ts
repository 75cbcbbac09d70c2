import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';

const run = promisify(execFile);
const root = fileURLToPath(packageRoot);
const packed = join(root, 'generated/docs/clinical-encounter-client.tgz');

/**
 * Installs the packed client in a folder, as partners do; returns its folder.
 * @param archive by default that of `make build`. @throws Error if it is not packed
 */
export async function installClient(folder: string, archive = packed): Promise<string> {
  if (!existsSync(archive)) throw new Error(`${archive} is missing: run "make client".`);
  const modules = join(folder, 'node_modules');
  const installed = join(modules, 'clinical-encounter-client');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', archive, '-C', installed, '--strip-components=1']);
  // Its only dependency, and the types to compile with.
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types', 'undici-types']) {
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  return installed;
}

/** Compiles files of the folder strictly. */
export async function compile(folder: string, files: readonly string[]): Promise<void> {
  const strict = ['--strict', '--noUncheckedIndexedAccess', '--target', 'ES2022', '--module', 'NodeNext'];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, ...strict, '--types', 'node', ...files], { cwd: folder }).catch(
    (error: unknown) => {
      throw new Error((error as { stdout: string }).stdout);
    },
  );
}
