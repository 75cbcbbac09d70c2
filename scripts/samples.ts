/** Creates the code samples of the operations: the contract's examples in the languages of partners (D-164). */
import { format } from 'oxfmt';
import { requests } from '../generated/client/values.js';
import type { Content, Operation } from './artifacts/sources.js';

export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

type SampledOperation = Pick<Operation, 'security' | 'parameters' | 'requestBody' | 'responses'>;
type Values = Readonly<Record<string, unknown>>;

/** A sample request, independent of any language. */
interface Sampled {
  readonly method: string;
  /** The template of the path. */
  readonly path: string;
  readonly isPublic: boolean;
  readonly params: Readonly<Record<'path' | 'query' | 'header', Values>>;
  readonly form: Values | undefined;
  readonly json: unknown;
  /** The name under which a sample saves the response, if that is a file. */
  readonly file: string | undefined;
  readonly hasBody: boolean;
}

/** The samples of one operation, simplest language first. */
export async function codeSamples(method: string, path: string, operation: SampledOperation): Promise<CodeSample[]> {
  const request = sampled(method, path, operation);
  return [
    { lang: 'bash', label: 'curl', source: curl(request) },
    { lang: 'typescript', label: 'TypeScript', source: await typescript(request) },
    { lang: 'python', label: 'Python', source: python(request) },
  ];
}

/** A sample request for the page that sends it. */
export interface SampleRequest {
  readonly isPublic: boolean;
  /** The request line, headers and body. */
  readonly text: string;
}

export function sampleRequest(method: string, path: string, operation: SampledOperation): SampleRequest {
  const { isPublic, params, form, json } = sampled(method, path, operation);
  const fields = Object.entries(form ?? {}).map(([name, value]) =>
    secrets[name] ? `${name}=$${secrets[name]}` : new URLSearchParams({ [name]: String(value) }).toString(),
  );
  const type = form ? FORM : json ? 'application/json' : undefined;
  const headers: Record<string, unknown> = { ...params.header, ...(type ? { 'Content-Type': type } : {}) };
  if (KEY in headers) headers[KEY] = '{uuid}';
  const lines = Object.entries(headers).map(([name, value]) => `\n${name}: ${String(value)}`);
  const body = form ? fields.join('&') : json ? literal(json) : undefined;
  const text = `${method.toUpperCase()} ${targetOf(path, params)}${lines.join('')}`;
  return { isPublic, text: body === undefined ? text : `${text}\n\n${body}` };
}

/** Parameters that samples omit: a cursor needs an earlier response, and the example of Sandbox-Behavior is an error. */
const leftOut = ['cursor', 'Sandbox-Behavior'];
const FORM = 'application/x-www-form-urlencoded';
/** Samples send a new key each time: with the same one, the response of the first request would be repeated. */
const KEY = 'Idempotency-Key';

function sampled(method: string, path: string, operation: SampledOperation): Sampled {
  const { security, parameters = [], requestBody: { content = {} } = {}, responses } = operation;
  const given = parameters.filter(({ name, schema, example }) => !leftOut.includes(name) && example !== schema.default);
  const placed = (place: string): Values =>
    Object.fromEntries(given.filter((one) => one.in === place).map(({ name, example }) => [name, example]));
  const [, { content: returned = {} } = {}] =
    Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const [type] = Object.keys(returned);
  return {
    method,
    path,
    isPublic: security.length === 0,
    params: { path: placed('path'), query: placed('query'), header: placed('header') },
    form: exampleOf(content[FORM]) as Values | undefined,
    json: content[FORM] ? undefined : exampleOf(content['application/json']),
    file: type?.endsWith('/pdf') ? `${path.slice(path.lastIndexOf('/') + 1)}.pdf` : undefined,
    hasBody: type !== undefined,
  };
}

const exampleOf = (content?: Content): unknown => Object.values(content?.examples ?? {})[0]?.value;

function targetOf(path: string, params: Sampled['params']): string {
  const query = new URLSearchParams(
    Object.entries(params.query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return `${filled(path, params.path)}${query.size > 0 ? `?${query.toString()}` : ''}`;
}

/** By member of the body, the variable that has the credential. */
const secrets: Readonly<Record<string, string>> = { client_id: 'CLIENT_ID', client_secret: 'CLIENT_SECRET' };

function curl({ method, path, isPublic, params, form, json, file }: Sampled): string {
  const url = `"$BASE_URL${targetOf(path, params)}"`;
  const implied = form || json ? 'post' : 'get';
  const fields = Object.entries(form ?? {}).map(([name, value]) =>
    secrets[name] ? `-d "${name}=$${secrets[name]}"` : `-d '${name}=${String(value)}'`,
  );
  return [
    ['curl', method !== implied && `-X ${method.toUpperCase()}`, url].filter(Boolean).join(' '),
    ...(isPublic ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...Object.entries(params.header).map(([name, value]) =>
      name === KEY ? `-H "${KEY}: $(uuidgen)"` : `-H '${name}: ${String(value)}'`,
    ),
    ...fields,
    ...(json ? ["-H 'Content-Type: application/json'", `-d '${literal(json).replaceAll("'", String.raw`'\''`)}'`] : []),
    ...(file ? [`-o ${file}`] : []),
  ].join(' \\\n  ');
}

/** Creates the TypeScript sample. It uses the client, which handles tokens and keys, except for public operations. */
async function typescript(request: Sampled): Promise<string> {
  const { method, path, isPublic, params, form, json, file, hasBody } = request;
  const lines: string[] = [];
  if (isPublic) {
    const members = Object.entries(form ?? {}).map(
      ([name, value]) => `${name}: ${secrets[name] ?? JSON.stringify(value)}`,
    );
    const init = form ? `, { method: 'POST', body: new URLSearchParams({ ${members.join(', ')} }) }` : '';
    const names = ['BASE_URL', ...Object.keys(form ?? {}).flatMap((name) => secrets[name] ?? [])];
    lines.push(`const { ${names.map((name) => `${name} = ''`).join(', ')} } = process.env;`);
    lines.push(
      `const response = await fetch(\`\${BASE_URL}${targetOf(path, params)}\`${init});`,
      'console.log(await response.json());',
    );
  } else {
    if (file) lines.push("import { writeFile } from 'node:fs/promises';");
    lines.push("import { createClient } from 'clinical-encounter-client';", '');
    lines.push("const { BASE_URL = '', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env;");
    lines.push(
      'const ces = createClient({ baseUrl: BASE_URL, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET });',
      '',
    );
    const given = some({ ...params.path, ...params.query, body: json });
    const call = `ces.${nameOf(method, path)}(${given ? JSON.stringify(given) : ''})`;
    if (/\.(list|find\()/.test(call)) lines.push(`for await (const one of ${call}) {`, 'console.log(one);', '}');
    else if (file) lines.push(`const file = await ${call};`, `await writeFile('${file}', file);`);
    else if (hasBody) lines.push(`const result = await ${call};`, 'console.log(result);');
    else lines.push(`await ${call};`);
  }
  const { code } = await format('sample.ts', lines.join('\n'), { singleQuote: true, printWidth: 80 });
  return code.trimEnd();
}

/** The name of an operation in the client, such as `encounters.create`. */
function nameOf(method: string, path: string): string {
  const request = `${method.toUpperCase()} ${path}`;
  const names = Object.entries(requests).flatMap(([resource, operations]) =>
    Object.entries(operations).map(([name, named]): [string, string] => [named, `${resource}.${name}`]),
  );
  const name = new Map(names).get(request);
  if (!name) {
    const advice =
      'Run "make docs". If it fails again, another operation of this tag got the same name: change an operationId.';
    throw new Error(`The client has no name for ${request}. ${advice}`);
  }
  return name;
}

/** The members that have a value; undefined if there are none. */
function some(values: Values): Values | undefined {
  const members = Object.entries(values).filter(([, value]) => value !== undefined);
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}

function python({ method, path, isPublic, params, form, json, file, hasBody }: Sampled): string {
  const env = (name: string): string => `os.environ["${name}"]`;
  const texts = (values: Values): Member[] =>
    Object.entries(values).map(([name, value]) => [name, JSON.stringify(String(value))]);
  const token: Member[] = isPublic ? [] : [['Authorization', '"Bearer " + os.environ["TOKEN"]']];
  const fields = texts(form ?? {}).map(([name, text]): Member => [name, secrets[name] ? env(secrets[name]) : text]);
  const headers = texts(params.header).map(([name, text]): Member => [name, name === KEY ? 'str(uuid.uuid4())' : text]);
  const named = { params: texts(params.query), headers: [...token, ...headers], data: fields };
  const options = Object.entries(named).flatMap(([name, members]) =>
    members.length > 0 ? [[name, dict(members)]] : [],
  );
  if (json) options.push(['json', literal(json, pythonWords)]);
  const url = `${env('BASE_URL')} + "${filled(path, params.path)}"`;
  const lines = [url, ...options.map(([name, text]) => `${name}=${text}`)];
  const given = lines.length > 1 ? `\n${lines.map((line) => `${indented(line)},\n`).join('')}` : lines.join('');
  return [
    'import os',
    ...(KEY in params.header ? ['import uuid'] : []),
    '',
    'import requests',
    '',
    `response = requests.${method}(${given})`,
    'response.raise_for_status()',
    ...(file ? [`with open("${file}", "wb") as file:`, '    file.write(response.content)'] : []),
    ...(hasBody && !file ? ['print(response.json())'] : []),
  ].join('\n');
}

const pythonWords: Readonly<Record<string, string>> = { null: 'None', true: 'True', false: 'False' };

/** A value as JSON, with the keywords of another language if given; on one line if it is short. */
function literal(value: unknown, words: Readonly<Record<string, string>> = {}): string {
  if (typeof value !== 'object' || value === null) {
    const text = JSON.stringify(value);
    return words[text] ?? text;
  }
  if (Array.isArray(value))
    return enclosed(
      '[',
      value.map((item) => literal(item, words)),
      ']',
    );
  return dict(Object.entries(value).map(([name, member]) => [name, literal(member, words)]));
}

type Member = readonly [string, string];

const dict = (members: readonly Member[]): string =>
  enclosed(
    '{',
    members.map(([name, text]) => `"${name}": ${text}`),
    '}',
  );

function enclosed(open: string, items: readonly string[], close: string): string {
  const line = `${open}${items.join(', ')}${close}`;
  if (line.length <= 64 && !line.includes('\n')) return line;
  return `${open}\n${items.map(indented).join(',\n')}\n${close}`;
}

const indented = (text: string): string => text.replaceAll(/^/gm, '    ');

const filled = (path: string, values: Values): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
