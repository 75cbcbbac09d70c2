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

/** Unpacks the packed client in a folder without the registry; returns its folder. @throws Error if it is not packed */
export async function installClient(folder: string): Promise<string> {
  if (!existsSync(packed)) throw new Error(`${packed} is missing: run "make client".`);
  const modules = join(folder, 'node_modules');
  const installed = join(modules, 'clinical-encounter-client');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', packed, '-C', installed, '--strip-components=1']);
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers']) {
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  return installed;
}

/** Compiles files of the folder strictly. */
export async function compile(folder: string, files: readonly string[]): Promise<void> {
  const strict = ['--strict', '--noUncheckedIndexedAccess', '--target', 'ES2022', '--module', 'NodeNext'];
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, ...strict, ...types, ...files], { cwd: folder }).catch((error: unknown) => {
    throw new Error(`tsc fails on ${files.join(', ')}. Correct these errors:\n${(error as { stdout: string }).stdout}`);
  });
}
