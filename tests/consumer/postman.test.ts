import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { presetPermissions, presets, type Preset } from '../../src/domain/access/permissions.js';
import { cast } from '../support/cast.js';
import { operations } from '../support/contract.js';
import { newClient } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { temporaryFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { newSandbox } from '../support/sandbox.js';
import { hasTools, tools } from '../support/tools.js';

const withTools = hasTools() ? it : it.skip;

const harness = await openHarness();
const folder = temporaryFolder();

interface Collection {
  readonly item: readonly { readonly name: string; readonly item: readonly { readonly name: string }[] }[];
}

interface Report {
  readonly run: {
    readonly executions: readonly { readonly item: { readonly name: string }; readonly response: { code: number } }[];
    readonly failures: readonly { readonly error: { readonly message: string }; readonly source: { name: string } }[];
  };
}

/** The number of folders before those of the tags. */
const WORKFLOWS = 3;

/** Runs the collection twice with newman, the command line of Postman, as the API clients of a sandbox; returns name and status of each request. */
async function newman(): Promise<string[]> {
  const [collection, json] = [folder('postman.json'), folder('report.json')];
  const { tenantId } = await newSandbox(harness);
  const { text } = await call(harness, 'GET /docs/postman.json');
  // The code of a certificate begins with the tenant.
  await writeFile(collection, text.replaceAll(new RegExp(`${cast.tenantId}(?=\\.0)`, 'g'), tenantId));
  const variables: string[] = [];
  for (const preset of Object.keys(presets) as Preset[]) {
    const { clientId, clientSecret } = await newClient(harness, tenantId, presetPermissions(preset, 'sandbox'));
    const role = preset === 'partner' ? 'client' : preset;
    variables.push(`${role}Id=${clientId}`, `${role}Secret=${clientSecret}`);
  }
  const args = [
    ...['run', collection, '--iteration-count', '2'],
    ...['--reporters', 'json', '--reporter-json-export', json],
    ...variables.flatMap((variable) => ['--env-var', variable]),
  ];
  const program = join(tools, 'node_modules/.bin/newman');
  // newman exits with 1 if a request fails; the report names the request.
  await promisify(execFile)(process.execPath, [program, ...args], { cwd: folder() }).catch(() => undefined);
  const { run } = JSON.parse(await readFile(json, 'utf8')) as Report;
  expect(run.failures.map(({ error, source }) => `${source.name}: ${error.message}`)).toEqual([]);
  // The report lists the token request of a script under the name of the request that follows.
  const lines = run.executions.map(({ item, response }) => `${item.name} ${response.code}`);
  return lines.filter((line, index) => line !== lines[index - 1]);
}

withTools(
  'the Postman collection runs twice, and every request gets its documented success, except one that is to get 409',
  async () => {
    const collection = (await call(harness, 'GET /docs/postman.json')).body as Collection;
    const before = ['Obtain an access token 200', 'Resolve the clinic 200'];
    const found = 'Find the patient by e-mail 200';
    const request = ['Resolve the treatment 200', 'Upload a document 200', 'Create the encounter 201'];
    const status = 'Follow its status 200';
    const flow = [
      ...[...before, 'Create the patient 201', ...request, status],
      ...[...before, 'Try to create the patient 409', found, ...request, status],
      ...[...before, found, ...request],
      'Read the encounter with its ETag 200',
      'Give it your own reference, unless it has changed since 200',
      'Add information and a document for the provider 200',
      status,
    ];
    const success = ({ responses }: (typeof operations)[number]) =>
      Object.keys(responses).find((code) => code.startsWith('2'));
    const documented = new Map(operations.map((operation) => [operation.summary, success(operation)]));
    const requests = collection.item.slice(WORKFLOWS).flatMap(({ item }) => item);
    const once = [...flow, ...requests.map(({ name }) => `${name} ${documented.get(name)}`)];
    expect(await newman()).toEqual([...once, ...once]);
  },
  60_000,
);

it('the Postman collection has every operation in the folder of its tag', async () => {
  const { item } = (await call(harness, 'GET /docs/postman.json')).body as Collection;
  const requests = item.slice(WORKFLOWS).flatMap((tag) => tag.item.map(({ name }) => `${tag.name}: ${name}`));
  expect(new Set(requests)).toEqual(new Set(operations.map(({ tags: [tag], summary }) => `${tag}: ${summary}`)));
});
