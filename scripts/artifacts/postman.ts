import { DOCUMENTED_ADDRESS as ADDRESS } from '../../src/http/pages/docs.js';
import { GIVEN, inOrder, requestsOf, roleOf, ROLES, SAVED } from './postmanStory.js';
import { operationsOf, type Contract, type Placed, type Step, type Workflow } from './sources.js';

/** A Postman collection (v2.1) that runs from top to bottom: the workflows as folders, then a folder for each tag (D-167). */
export function postmanCollection(contract: Contract, workflows: readonly Workflow[]): object {
  const operations = operationsOf(contract);
  const inputs = Object.entries(workflows[0]?.inputs.properties ?? {});
  return {
    info: {
      name: contract.info.title,
      description: `${contract.info.summary}. Made from version ${contract.info.version} of the contract.\n\n${USE}`,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: bearer('token'),
    event: [script('prerequest', TOKEN_SCRIPT)],
    variable: [
      { key: 'baseUrl', value: ADDRESS },
      ...inputs.map(([key, { default: value = '' }]) => ({ key, value })),
      ...ROLES.flatMap((role) => [`${role}Id`, `${role}Secret`]).map((key) => ({ key, value: '' })),
    ],
    item: [
      ...workflows.map((workflow) => workflowFolder(workflow, operations)),
      ...inOrder(contract.tags).map(({ name, description }) => ({
        name,
        description,
        item: requestsOf(name, operations).map(operationItem),
      })),
    ],
  };
}

const USE = [
  "Set `clientId` and `clientSecret` to the credentials of a partner's API client in a sandbox, and",
  `${ROLES.map((role) => `\`${role}Id\``).join(', ')} with their secrets to those of the other kinds of API clients.`,
  'The collection obtains tokens. It runs from top to bottom, and resets the sandbox near its end.',
].join(' ');

const bearer = (name: string): object => ({
  type: 'bearer',
  bearer: [{ key: 'token', value: `{{${name}.accessToken}}`, type: 'string' }],
});

/** A script of the collection: the first request of each kind of API client obtains its token, valid for hours. */
const TOKEN_SCRIPT = `
const value = (name) => pm.variables.get(name);
const [, name = 'token'] = /{{(\\w+)\\.accessToken}}/.exec(JSON.stringify(pm.request.auth ?? {})) ?? [];
if (pm.request.url.getPath() !== '/oauth/token' && !(value(name + '.expires') > Date.now())) {
  const [id, secret] = name === 'token' ? ['clientId', 'clientSecret'] : [name + 'Id', name + 'Secret'];
  const credentials = { client_id: value(id), client_secret: value(secret) };
  pm.sendRequest({
    url: value('baseUrl') + '/oauth/token',
    method: 'POST',
    header: { 'Content-Type': 'application/json' },
    body: { mode: 'raw', raw: JSON.stringify({ grant_type: 'client_credentials', ...credentials }) },
  }, (error, response) => {
    if (error || response.code !== 200) {
      const reason = String(error || response.code);
      const variables = 'baseUrl, ' + id + ' and ' + secret;
      throw new Error('No token (' + reason + '): see that the service runs, correct the variables ' + variables + ', or send again later.');
    }
    const { access_token, expires_in } = response.json();
    pm.collectionVariables.set(name + '.accessToken', access_token);
    pm.collectionVariables.set(name + '.expires', Date.now() + (expires_in - 60) * 1000);
  });
}`;

const script = (listen: string, source: string): object => ({
  listen,
  script: { type: 'text/javascript', exec: source.trim().split('\n') },
});

function workflowFolder({ summary, description, steps }: Workflow, operations: readonly Placed[]): object {
  return { name: summary, description, item: steps.map((step) => stepItem(step, operations)) };
}

function stepItem(step: Step, operations: readonly Placed[]): object {
  const operation = operations.find(({ operationId }) => operationId === step.operationId);
  if (!operation)
    throw new Error(`The contract lacks ${step.operationId}: correct step ${step.stepId} of openapi/arazzo.yaml.`);
  // Omit the header Authorization, because the collection adds the token to all requests.
  const given = (step.parameters ?? []).filter(({ name }) => name !== 'Authorization');
  const sent = given.map(({ name, in: place, value }) => ({ name, in: place, value: postmanValue(value) }));
  return {
    name: step.description,
    event: [script('test', testScript(step))],
    request: request(operation, sent, step.requestBody && postmanValue(step.requestBody.payload)),
  };
}

function postmanValue(value: unknown): unknown {
  const text = JSON.stringify(value);
  return JSON.parse(
    text.replaceAll(/\$inputs\.(\w+)/g, '{{$1}}').replaceAll(/\$steps\.(\w+)\.outputs\.(\w+)/g, '{{$1.$2}}'),
  );
}

function testScript({ stepId, successCriteria, outputs = {} }: Step): string {
  const [status] = successCriteria.flatMap(({ condition }) => /^\$statusCode == (\d+)$/.exec(condition)?.[1] ?? []);
  const saved = Object.entries(outputs).map(([name, expression]) =>
    saving(`${stepId}.${name}`, responseValue(expression)),
  );
  return [hasStatus(status), ...saved].join('\n');
}

const hasStatus = (status = ''): string => `pm.test('is ${status}', () => pm.response.to.have.status(${status}));`;

const saving = (name: string, value: string): string => `pm.collectionVariables.set('${name}', ${value});`;

/** The JavaScript that reads `$response.header.NAME` or `$response.body#/POINTER`. */
function responseValue(expression: string): string {
  const [, header] = /^\$response\.header\.(.+)$/.exec(expression) ?? [];
  if (header) return `pm.response.headers.get('${header}')`;
  const [, ...members] = expression.split('/');
  const value = members.map((member) => (/^\d+$/.test(member) ? `[${member}]` : `.${member}`)).join('');
  return `pm.response.json()${value}`;
}

function operationItem(operation: Placed): object {
  const { operationId, summary, parameters = [], requestBody, responses } = operation;
  const [example] = Object.values(Object.values(requestBody?.content ?? {})[0]?.examples ?? {});
  const given = GIVEN[operationId] ?? {};
  const sent = parameters.map(({ name, in: place, example: value, description, required = false }) => ({
    name,
    in: place,
    value: name === 'Idempotency-Key' ? '{{$guid}}' : (given[name] ?? value),
    description,
    // Enable the e-mail, because a search for patients needs one of its optional parameters.
    disabled: !required && name !== 'email',
  }));
  const body = example && { ...(example.value as object), ...membersOf(example.value as object, given) };
  const status = Object.keys(responses).find((code) => code.startsWith('2'));
  const saved = SAVED[operationId];
  const test = [hasStatus(status), ...(saved ? [saving(saved[0], `pm.response.json().${saved[1]}`)] : [])].join('\n');
  const role = roleOf(operation);
  return {
    name: summary,
    event: [script('test', test)],
    request: { ...request(operation, sent, body), ...(role === 'partner' ? {} : { auth: bearer(role) }) },
  };
}

const membersOf = (body: object, given: Readonly<Record<string, string>>): object =>
  Object.fromEntries(Object.entries(given).filter(([name]) => name in body));

interface SentParameter {
  readonly name: string;
  readonly in: string;
  readonly value: unknown;
  readonly description?: string;
  readonly disabled?: boolean;
}

function request({ method, path, security, description }: Placed, parameters: SentParameter[], body?: unknown): object {
  const those = (place: string): object[] =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, in: _in, value, ...others }) => ({ key: name, value: String(value), ...others }));
  const contentType = { key: 'Content-Type', value: 'application/json' };
  return {
    method,
    description,
    ...(security.length === 0 ? { auth: { type: 'noauth' } } : {}),
    header: [...(body === undefined ? [] : [contentType]), ...those('header')],
    url: {
      raw: `{{baseUrl}}${path}`,
      host: ['{{baseUrl}}'],
      path: path
        .slice(1)
        .replaceAll(/\{(\w+)\}/g, ':$1')
        .split('/'),
      query: those('query'),
      variable: those('path'),
    },
    ...(body === undefined
      ? {}
      : { body: { mode: 'raw', raw: JSON.stringify(body, null, 2), options: { raw: { language: 'json' } } } }),
  };
}
