import { execFile, spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { codeSamples } from '../../scripts/samples.js';
import { cast, castTime } from '../support/cast.js';
import { operations } from '../support/contract.js';
import { openHarness } from '../support/harness.js';
import { temporaryFolder } from '../support/folder.js';
import { isThere, packages } from '../support/optional.js';
import { compile, installClient } from '../support/packedClient.js';
import { newSandbox } from '../support/sandbox.js';

const run = promisify(execFile);

const harness = await openHarness();
const folder = temporaryFolder();
harness.clock.now = castTime;

/** Writes the samples in a language, and a list of the operations, to the folder. */
async function writeSamples(label: string, extension: string): Promise<string[]> {
  const files = operations.map(async (operation) => {
    const samples = await codeSamples(operation.method.toLowerCase(), operation.path, operation);
    const file = `${operation.operationId}.${extension}`;
    await writeFile(folder(file), samples.find((sample) => sample.label === label)?.source ?? '');
    return file;
  });
  const lines = operations.map(({ operationId, method }) => `${operationId} ${method}\n`);
  await writeFile(folder('operations'), lines.join(''));
  return Promise.all(files);
}

/** Runs the samples of a language in a new sandbox; returns `operationId status` of each. */
async function statuses(program: string, script: string, files: readonly string[]): Promise<string[]> {
  const { tenantId, clientId, clientSecret, token } = await newSandbox(harness);
  // The code of a certificate begins with the tenant.
  const sample = files.find((file) => file.startsWith('verifyCertificate.')) ?? '';
  const source = await readFile(folder(sample), 'utf8');
  await writeFile(folder(sample), source.replace(new RegExp(`${cast.tenantId}(?=\\.0)`), tenantId));
  const env = {
    ...{ BASE_URL: harness.baseUrl, TOKEN: token, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret },
    PATH: process.env['PATH'],
  };
  const runner = fileURLToPath(new URL(`samples/${script}`, import.meta.url));
  const { stdout } = await run(program, [runner], { cwd: folder(), env });
  return stdout.trimEnd().split('\n');
}

const successes = operations.map(
  ({ operationId, statuses: declared }) => `${operationId} ${declared.find((status) => status < 300)}`,
);

/** Whether the machine can run the samples of a language; as {@link isThere}. */
function canRun(label: string, [program = '', ...args]: readonly string[]): boolean {
  const found = spawnSync(program, args).status === 0;
  return isThere(found, `samples in ${label}`, packages('curl python3-requests uuid-runtime'));
}

/** Debian installs packages for the system's Python, which may not be the first in PATH. */
const python = '/usr/bin/python3';

describe('code samples', () => {
  const languages = [
    { label: 'curl', extension: 'sh', program: 'bash', needs: ['sh', '-c', 'curl --version && uuidgen'] },
    { label: 'Python', extension: 'py', program: python, needs: [python, '-c', 'import requests'] },
  ];
  for (const { label, extension, program, needs } of languages) {
    const check = async (): Promise<void> => {
      const files = await writeSamples(label, extension);
      expect(await statuses(program, `run.${extension}`, files)).toEqual(successes);
    };
    (canRun(label, needs) ? it : it.skip)(`succeed in ${label}`, check, 60_000);
  }
});

describe('the packed client without code of the server', () => {
  beforeAll(async () => {
    const files = await writeSamples('TypeScript', 'ts');
    const installed = await installClient(folder());
    const readme = await readFile(join(installed, 'README.md'), 'utf8');
    const examples = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, example]) => example);
    await writeFile(folder('example.ts'), examples.join('\n'));
    await compile(folder(), ['example.ts', ...files]);
  });

  it('compiles the examples of its README, and runs them twice', async () => {
    const { clientId, clientSecret } = await newSandbox(harness);
    const env = { CES_URL: harness.baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret };
    for (const time of ['first', 'second']) {
      const { stdout: printed } = await run(process.execPath, ['example.js'], { cwd: folder(), env });
      expect([time, printed]).toEqual([time, expect.stringMatching(/^GFE-\d+ pending_review\n/)]);
      expect(printed).toContain('encounter.created');
      expect(printed).toMatch(/^order.created\n\[$.*^\d{4,} bytes$/ms);
    }
  });

  it('compiles and runs every code sample in TypeScript', async () => {
    expect(await statuses(process.execPath, 'run.js', ['verifyCertificate.js'])).toEqual(successes);
  });
});
