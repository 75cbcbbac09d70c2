import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** The parts of JSON Schema that tests look at. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly pattern?: string;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly const?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly 'x-extensible-enum'?: readonly string[];
  /** Keyword → problem code. */
  readonly 'x-problem-codes'?: Readonly<Record<string, string>>;
}

interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

interface MediaType {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, Example>>;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

interface Header {
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

interface Response {
  readonly headers?: Readonly<Record<string, Header>>;
  /** Absent if the answer has no body. */
  readonly content?: Readonly<Record<string, MediaType>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
  readonly responses: Readonly<Record<string, Response>>;
}

/** An operation with its place; the dereferenced contract has no `$ref` to follow. */
export interface ContractOperation extends Operation {
  /** In capitals. */
  readonly method: string;
  /** Path template. */
  readonly path: string;
  /** The permissions of which a caller needs one (R-03); empty for a public operation. */
  readonly scopes: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly statuses: readonly number[];
}

/** The used parts of a contract without references. */
export interface Document {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Required<Pick<Operation, 'requestBody'>> }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** The contract that the service runs from. */
export const contract = JSON.parse(
  readFileSync(new URL('../../generated/dereferenced.json', import.meta.url), 'utf8'),
) as Document;

/** Every operation of a contract. */
export const operationsOf = ({ paths }: Document): ContractOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
      scopes: operation.security.flatMap((requirement) => Object.values(requirement).flat()),
      parameters: operation.parameters ?? [],
      statuses: Object.keys(operation.responses).map(Number),
    })),
  );

/** Every operation of the contract that the service runs from. */
export const operations: readonly ContractOperation[] = operationsOf(contract);

/** The schema of each event, by its type. */
export const eventSchemas: Readonly<Record<string, Schema>> = Object.fromEntries(
  (contract.components.schemas['Event']?.oneOf ?? []).flatMap((schema) => {
    const type = schema.properties?.['type']?.const;
    // The schema of other types has none.
    return type === undefined ? [] : [[type, schema]];
  }),
);

/** Every example of a response. */
export const responseExamples = operations.flatMap(({ operationId, responses }) =>
  Object.entries(responses).flatMap(([status, { content = {} }]) =>
    Object.entries(content).flatMap(([mediaType, { schema, examples = {} }]) =>
      Object.entries(examples).map(([name, { value }]) => ({
        title: `${operationId} ${status} ${name} as ${mediaType}`,
        operationId,
        status: Number(status),
        mediaType,
        name,
        schema,
        value,
      })),
    ),
  ),
);

/** Examples of failures. The 503 of an unready service has no code, so it is not among them. */
export const failureExamples = responseExamples.flatMap(({ value, ...example }) => {
  const shown = Object(value) as Readonly<Record<string, unknown>>;
  const code = shown['code'] ?? shown['error'];
  return code === undefined ? [] : [{ ...example, code, example: shown }];
});

/** Operations that need a token. */
export const securedOperations = operations.filter(({ security }) => security.length > 0);

/** One operation by its name. */
export function operationOf(operationId: string): ContractOperation {
  const operation = operations.find((candidate) => candidate.operationId === operationId);
  if (!operation)
    throw new Error(`The contract has no operation ${operationId}: correct the name, or run "make generate"`);
  return operation;
}

/**
 * `METHOD /path?query` with the contract's examples as parameters, for `call`.
 * @param changes other values, or undefined to leave a query parameter out
 */
export function targetOf(operation: ContractOperation, changes: Readonly<Record<string, unknown>> = {}): string {
  const shown = operation.parameters.filter((parameter) => parameter.in !== 'header');
  const values = new Map(shown.map(({ name, example }) => [name, example]));
  for (const [name, value] of Object.entries(changes)) values.set(name, value);
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(textOf(values.get(name))),
  );
  const query = new URLSearchParams();
  for (const [name, value] of values) if (!inPath.includes(name) && value !== undefined) query.set(name, textOf(value));
  return `${operation.method} ${path}${query.size > 0 ? `?${query.toString()}` : ''}`;
}

/** The contract's examples of the headers that the operation requires. */
export function requiredHeaders({ parameters }: ContractOperation): Record<string, string> {
  const headers = parameters.filter(({ in: place, required }) => place === 'header' && required);
  return Object.fromEntries(headers.map(({ name, example }) => [name, textOf(example)]));
}

/** A list as `style: form` without explosion. */
const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.map(textOf).join(',') : typeof value === 'string' ? value : JSON.stringify(value);

/** The named example of the operation's request body as JSON, or the first one. */
export function exampleBody(
  { operationId, requestBody }: ContractOperation,
  name?: string,
): Readonly<Record<string, unknown>> {
  const examples = requestBody?.content['application/json']?.examples ?? {};
  const example = name === undefined ? Object.values(examples)[0] : examples[name];
  if (!example)
    throw new Error(
      `${operationId} has no example ${name ?? 'at all'} of a JSON body: correct the name, or openapi/examples`,
    );
  return example.value as Record<string, unknown>;
}

/** An answer as it was sent, for {@link contractFaults}. */
export interface SentAnswer {
  readonly status: number;
  readonly contentType: string;
  header(name: string): string | undefined;
  readonly body: unknown;
}

/** How an answer breaks the contract; empty if it does not. */
export function contractFaults(operationId: string, { status, contentType, header, body }: SentAnswer): string[] {
  const { responses } = operationOf(operationId);
  const what = `${operationId} ${status}`;
  const declared = responses[status];
  if (!declared) return [`${what} is not declared`];
  const headers = Object.entries(declared.headers ?? {}).flatMap(([name, { required, schema }]) => {
    const value = header(name);
    if (value === undefined) return required ? [`${what} lacks the header ${name}`] : [];
    return schemaFaults(schema, schema.type === 'integer' ? Number(value) : value).map(
      (fault) => `${what} has a wrong header ${name}: ${fault}`,
    );
  });
  if (!declared.content) return body === undefined ? headers : [...headers, `${what} has a body`];
  const [mediaType = ''] = contentType.split(';');
  const content = declared.content[mediaType];
  if (!content)
    return [...headers, `${what} is declared as ${Object.keys(declared.content).join(', ')}, not ${mediaType}`];
  // The schema of a PDF only names its type.
  if (mediaType === 'application/pdf') return headers;
  return [...headers, ...schemaFaults(content.schema, body).map((fault) => `${what} breaks its schema: ${fault}`)];
}

// Keyed by text, because all operations share most response schemas.
const compiled = new Map<string, ValidateFunction>();
const validators = new WeakMap<Schema, ValidateFunction>();
const ajv = new Ajv2020({ allErrors: true, strict: false });
addFormats.default(ajv);

/** The rules of the schema that the value breaks, with their places. */
export function schemaFaults(schema: Schema, value: unknown): string[] {
  const validate = validators.get(schema) ?? compiledOnce(schema);
  validators.set(schema, validate);
  return validate(value)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

function compiledOnce(schema: Schema): ValidateFunction {
  const text = JSON.stringify(schema);
  const validate = compiled.get(text) ?? ajv.compile(schema);
  compiled.set(text, validate);
  return validate;
}
