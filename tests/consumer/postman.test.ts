import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { useHarness } from '../support/harness.js';
import { temporaryFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { newSandbox } from '../support/sandbox.js';
import { hasTools, tools } from '../support/tools.js';

const withTools = hasTools() ? it : it.skip;

const harness = useHarness();
const folder = temporaryFolder();

interface Collection {
  readonly item: readonly { readonly name: string; readonly item: readonly { readonly name: string }[] }[];
}

interface Contract {
  readonly paths: Record<string, Record<string, { readonly tags: string[]; readonly summary: string }>>;
}

interface Report {
  readonly run: {
    readonly executions: readonly { readonly item: { readonly name: string }; readonly response: { code: number } }[];
    readonly failures: readonly { readonly error: { readonly message: string } }[];
  };
}

/** Runs folders with newman, the command line of Postman; returns the name and status of each request. */
async function newman(folders: readonly string[]): Promise<string[]> {
  const [collection, json] = [folder('postman.json'), folder('report.json')];
  await writeFile(collection, (await call(harness, 'GET /docs/postman.json')).text);
  const { clientId, clientSecret } = await newSandbox(harness);
  const args = [
    ...['run', collection, '--reporters', 'json', '--reporter-json-export', json],
    ...folders.flatMap((name) => ['--folder', name]),
    ...['--env-var', `clientId=${clientId}`, '--env-var', `clientSecret=${clientSecret}`],
  ];
  const program = join(tools, 'node_modules/.bin/newman');
  // newman exits with 1 if a request fails; the report names the request.
  await promisify(execFile)(process.execPath, [program, ...args], { cwd: folder() }).catch(() => undefined);
  const { run } = JSON.parse(await readFile(json, 'utf8')) as Report;
  expect(run.failures.map(({ error }) => error.message)).toEqual([]);
  // The report lists the token request of a script under the name of the request that follows.
  const lines = run.executions.map(({ item, response }) => `${item.name} ${response.code}`);
  return lines.filter((line, index) => line !== lines[index - 1]);
}

withTools(
  'the Postman collection runs the flow for a new and for an existing patient, and the amendment',
  async () => {
    const { body } = await call(harness, 'GET /docs/postman.json');
    const folders = (body as Collection).item.slice(0, 3).map(({ name }) => name);
    const before = ['Obtain an access token 200', 'Resolve the clinic 200'];
    const found = 'Find the patient by e-mail 200';
    const request = ['Resolve the treatment 200', 'Upload a document 200', 'Create the encounter 201'];
    const status = 'Follow its status 200';
    expect(await newman(folders)).toEqual([
      ...[...before, 'Create the patient 201', ...request, status],
      ...[...before, 'Try to create the patient 409', found, ...request, status],
      ...[...before, found, ...request],
      'Read the encounter with its ETag 200',
      'Give it your own reference, unless it has changed since 200',
      'Add information and a document for the provider 200',
      status,
    ]);
  },
  60_000,
);

withTools(
  'the Postman collection obtains its token, and its examples succeed in a sandbox',
  async () => {
    expect(await newman(['Clinics', 'Patients', 'Products', 'Documents'])).toEqual([
      'List clinics 200',
      'Find patients by e-mail, or by name and birth date 200',
      'Create a patient 201',
      'Retrieve a patient 200',
      'Update a patient 200',
      'Check whether a patient may get treatments 200',
      'List states 200',
      'List products 200',
      'Upload a document from a URL 200',
      'List documents of a patient 200',
      'Retrieve a document 200',
      'Withdraw a document 200',
    ]);
  },
  60_000,
);

it('the Postman collection has every operation once, in folders by tag in the order of the contract', async () => {
  const { item } = (await call(harness, 'GET /docs/postman.json')).body as Collection;
  const shown = item.slice(3).flatMap((tag) => tag.item.map(({ name }) => `${tag.name}: ${name}`));
  const { paths } = (await call(harness, 'GET /openapi.json')).body as Contract;
  const all = Object.values(paths).flatMap((methods) => Object.values(methods));
  expect(shown).toEqual(all.map(({ tags: [tag], summary }) => `${tag}: ${summary}`));
});
