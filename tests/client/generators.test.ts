import { execFile } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { openHarness } from '../support/harness.js';
import { temporaryFolder } from '../support/folder.js';
import { laterValue, startLaterService } from '../support/growth.js';
import { newSandbox } from '../support/sandbox.js';
import { hasTools, tools } from '../support/tools.js';

const withTools = hasTools() ? it : it.skip;
const root = fileURLToPath(packageRoot);
const contract = join(root, 'generated/openapi.json');

const harness = await openHarness();
const later = await startLaterService(harness.baseUrl);
afterAll(() => later.close());
const folder = temporaryFolder();

/** Runs a program in the folder of the flows; returns its output. */
async function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const common = { PATH: process.env['PATH'], DO_NOT_TRACK: '1', CONTRACT: contract, BASE_URL: later.baseUrl };
  const options = { cwd: folder(), env: { ...common, ...env } };
  const running = promisify(execFile)(process.execPath, [program, ...args], options);
  const { stdout } = await running.catch((error: unknown) => {
    const output = error as { stdout: string; stderr: string };
    throw new Error(`${program}\n${output.stdout}${output.stderr}`);
  });
  return stdout;
}

withTools(
  'clients of five generators compile strictly, and run the flow with unknown values, members and types of events',
  async () => {
    await cp(join(tools, 'flows'), folder(), { recursive: true });
    await mkdir(folder('node_modules'));
    // The clients need these to compile and run.
    const modules = ['openapi-fetch', 'openapi-typescript-helpers', '@types', 'undici-types'];
    for (const name of modules) await symlink(join(root, 'node_modules', name), folder('node_modules', name));
    await symlink(join(tools, 'node_modules/@kubb'), folder('node_modules/@kubb'));

    const tool = (name: string): string => join(tools, 'node_modules/.bin', name);
    await Promise.all([
      run(join(root, 'node_modules/.bin/openapi-typescript'), [contract, '--output', 'openapiFetch/schema.ts']),
      run(tool('openapi-ts'), ['--input', contract, '--output', 'heyApi', '--no-log-file']),
      run(tool('orval'), ['--config', './orval.config.cjs']),
      run(tool('kubb'), ['generate', '--config', 'kubb.config.mjs']),
      run(tool('swagger-typescript-api'), ['generate', '--path', contract, '--output', 'swaggerTypescriptApi']),
    ]);
    await run(join(root, 'node_modules/typescript/bin/tsc'), ['-p', 'tsconfig.json']);

    const { clientId, clientSecret } = await newSandbox(harness);
    const main = join(root, 'node_modules/tsx/dist/cli.mjs');
    const printed = await run(main, ['main.ts'], { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret });
    const names = ['openapiFetch', 'heyApi', 'orval', 'kubb', 'swaggerTypescriptApi'];
    const lines = names.map((name) => expect.stringMatching(`^${name} GFE-\\d+ ${laterValue} [1-9]\\d*$`));
    expect(printed.trim().split('\n')).toEqual(lines);
  },
  180_000,
);
