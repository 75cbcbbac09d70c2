import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { temporaryFolder } from '../support/folder.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { newSandbox } from '../support/sandbox.js';

const run = promisify(execFile);
const pathOf = (file: string): string => fileURLToPath(new URL(file, packageRoot));

const folder = temporaryFolder();
const harness = await openHarness();

interface Report {
  readonly files: Record<string, { readonly executedWorkflows: { readonly executedSteps: ExecutedStep[] }[] }>;
}

interface ExecutedStep {
  readonly workflowId: string;
  readonly stepId: string;
  readonly response: { readonly statusCode: number };
}

/** Runs Arazzo workflows; returns the status of each step, whose response redocly compares with the contract. */
async function statuses(file: string, credentials: readonly string[]): Promise<string[]> {
  const json = folder('report.json');
  const inputs = credentials.map((value, index) => `${['clientId', 'clientSecret'][index]}=${value}`);
  const args = [...inputs.flatMap((input) => ['--input', input]), '--json-output', json];
  const env = { PATH: process.env['PATH'], REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const program = [pathOf('node_modules/.bin/redocly'), 'respect', file, ...args];
  await run(process.execPath, program, { cwd: folder(), env }).catch((error: unknown) => {
    throw new Error((error as { stdout: string }).stdout);
  });
  const { files } = JSON.parse(await readFile(json, 'utf8')) as Report;
  const steps = Object.values(files).flatMap(({ executedWorkflows }) => executedWorkflows);
  return steps
    .flatMap(({ executedSteps }) => executedSteps)
    .map(({ workflowId, stepId, response }) => `${workflowId} ${stepId} ${response.statusCode}`);
}

const start = ['token 200', 'clinic 200'];
const request = ['treatment 200', 'document 200', 'encounter 201'];
const end = [...request, 'status 200'];
const amendment = [...request, 'read 200', 'amend 200', 'inform 200', 'status 200'];
const expected = [
  ...[...start, 'patient 201', ...end].map((step) => `newPatient ${step}`),
  ...[...start, 'taken 409', 'patient 200', ...end].map((step) => `existingPatient ${step}`),
  ...[...start, 'patient 200', ...amendment].map((step) => `amendment ${step}`),
];

it('the Arazzo workflows that the service serves succeed on the service', async () => {
  const { clientId, clientSecret } = await newSandbox(harness);
  const served = folder('arazzo.yaml');
  await writeFile(served, (await call(harness, 'GET /docs/arazzo.yaml')).text);
  expect(await statuses(served, [clientId, clientSecret])).toEqual(expected);
});
