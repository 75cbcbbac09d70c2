import { DOCUMENTED_ADDRESS as ADDRESS } from '../../src/http/pages/docs.js';
import { operationsOf, type Contract, type Placed, type Step, type Workflow } from './sources.js';

/** A Postman collection (v2.1): the workflows as folders to run, then a folder for each tag. */
export function postmanCollection(contract: Contract, workflows: readonly Workflow[]): object {
  const operations = operationsOf(contract);
  const inputs = Object.entries(workflows[0]?.inputs.properties ?? {});
  return {
    info: {
      name: contract.info.title,
      description: `${contract.info.summary}. Made from version ${contract.info.version} of the contract.`,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{token.accessToken}}', type: 'string' }] },
    event: [script('prerequest', TOKEN_SCRIPT)],
    variable: [{ key: 'baseUrl', value: ADDRESS }, ...inputs.map(([key, { default: value = '' }]) => ({ key, value }))],
    item: [
      ...workflows.map((workflow) => workflowFolder(workflow, operations)),
      ...contract.tags.map(({ name, description }) => ({
        name,
        description,
        item: operations.filter(({ tags }) => tags.includes(name)).map(operationItem),
      })),
    ],
  };
}

/** The first request obtains the token, which is valid for hours. */
const TOKEN_SCRIPT = `
const value = (name) => pm.variables.get(name);
if (pm.request.url.getPath() !== '/oauth/token' && !(value('token.expires') > Date.now())) {
  const credentials = { client_id: value('clientId'), client_secret: value('clientSecret') };
  pm.sendRequest({
    url: value('baseUrl') + '/oauth/token',
    method: 'POST',
    header: { 'Content-Type': 'application/json' },
    body: { mode: 'raw', raw: JSON.stringify({ grant_type: 'client_credentials', ...credentials }) },
  }, (error, response) => {
    if (error || response.code !== 200) throw new Error('No token: are clientId and clientSecret right?');
    const { access_token, expires_in } = response.json();
    pm.collectionVariables.set('token.accessToken', access_token);
    pm.collectionVariables.set('token.expires', Date.now() + (expires_in - 60) * 1000);
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
  if (!operation) throw new Error(`no operation ${step.operationId}`);
  // The collection has the token.
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
  const saved = Object.entries(outputs).map(
    ([name, expression]) => `pm.collectionVariables.set('${stepId}.${name}', ${responseValue(expression)});`,
  );
  return [`pm.test('is ${status}', () => pm.response.to.have.status(${status}));`, ...saved].join('\n');
}

/** JavaScript for `$response.header.NAME` or `$response.body#/POINTER`. */
function responseValue(expression: string): string {
  const [, header] = /^\$response\.header\.(.+)$/.exec(expression) ?? [];
  if (header) return `pm.response.headers.get('${header}')`;
  const [, ...members] = expression.split('/');
  const value = members.map((member) => (/^\d+$/.test(member) ? `[${member}]` : `.${member}`)).join('');
  return `pm.response.json()${value}`;
}

function operationItem(operation: Placed): object {
  const { summary, parameters = [], requestBody } = operation;
  const [example] = Object.values(Object.values(requestBody?.content ?? {})[0]?.examples ?? {});
  const sent = parameters.map(({ name, in: place, example: value, description, required = false }) => ({
    name,
    in: place,
    value: name === 'Idempotency-Key' ? '{{$guid}}' : value,
    description,
    // A search for patients needs one of its optional parameters.
    disabled: !required && name !== 'email',
  }));
  return { name: summary, request: request(operation, sent, example?.value) };
}

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
