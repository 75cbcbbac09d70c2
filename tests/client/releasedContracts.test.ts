import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import openapiTS, { astToString } from 'openapi-typescript';
import { packageRoot } from '../../src/packageRoot.js';
import type { Credentials } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { useHarness } from '../support/harness.js';
import { releasedContracts } from '../support/released.js';
import { newSandbox } from '../support/sandbox.js';
import { tools } from '../support/tools.js';

/** As tests/tools/flows/openapiFetch.ts, which compiles only with the types of a contract. */
interface Flow {
  flow(target: { readonly baseUrl: string } & Credentials): Promise<string>;
}

const root = fileURLToPath(packageRoot);
const harness = useHarness();
const folder = temporaryFolder();

it('a client that openapi-typescript generates from each released contract compiles strictly and creates an encounter', async () => {
  await mkdir(folder('node_modules'));
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types', 'undici-types'])
    await symlink(join(root, 'node_modules', name), folder('node_modules', name));
  for (const name of ['package.json', 'tsconfig.json']) await cp(join(tools, 'flows', name), folder(name));
  for (const { version, path } of releasedContracts) {
    await mkdir(folder(version, 'openapiFetch'), { recursive: true });
    for (const name of ['example.ts', 'openapiFetch.ts']) await cp(join(tools, 'flows', name), folder(version, name));
    // 1.0.0 has a default in a body, which would make its field required.
    const types = astToString(await openapiTS(pathToFileURL(path), { defaultNonNullable: false }));
    await writeFile(folder(version, 'openapiFetch/schema.ts'), types);
  }
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const compiled = promisify(execFile)(process.execPath, [compiler, '-p', folder()]);
  await compiled.catch((error: unknown) => expect((error as { stdout: string }).stdout).toBe(''));

  for (const { version } of releasedContracts) {
    const { flow } = (await import(folder(version, 'openapiFetch.ts'))) as Flow;
    expect([version, await flow({ baseUrl: harness.baseUrl, ...(await newSandbox(harness)) })]).toEqual([
      version,
      expect.stringMatching(/^GFE-\d+ pending_review$/),
    ]);
  }
}, 120_000);
