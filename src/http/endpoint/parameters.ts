import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import canonicalize from 'canonicalize';
import type { IdempotencyRequest } from '../../context.js';
import { validateRequest } from './validation.js';

/** The header's name as the contract spells it; Node gives it in lower case. */
export const KEY_HEADER = 'Idempotency-Key';

type Part = 'path' | 'query' | 'header';

/** A parameter of the contract. */
export interface Parameter {
  readonly name: string;
  readonly in: Part;
  readonly required?: boolean;
  /** Whether a list is sent by repeating the parameter; if not, commas separate its elements. */
  readonly explode?: boolean;
  readonly schema: { readonly type?: unknown; readonly enum?: unknown[]; readonly items?: Parameter['schema'] };
}

/** A request without its body. */
export interface Head {
  /** The path as sent, without the query string. */
  readonly path: string;
  /** Path parameters by name. */
  readonly params: Record<string, string | undefined>;
  readonly query: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
}

/** Reads path, query and headers into the contract's types, with defaults. @throws Problem */
export type ReadParameters = (head: Head) => Readonly<Record<Part, object>>;

export function parameterReader(declared: readonly Parameter[]): ReadParameters {
  // Node gives header names in lower case.
  const parameters = declared.map((parameter) =>
    parameter.in === 'header' ? { ...parameter, name: parameter.name.toLowerCase() } : parameter,
  );
  const parametersIn = (part: Part): Parameter[] => parameters.filter((parameter) => parameter.in === part);
  const schemaOf = (part: Part): object => ({
    type: 'object',
    properties: Object.fromEntries(parametersIn(part).map(({ name, schema }) => [name, schema])),
    required: parametersIn(part).flatMap(({ name, required }) => (required ? [name] : [])),
    additionalProperties: false,
  });
  const properties = { path: schemaOf('path'), query: schemaOf('query'), header: schemaOf('header') };
  const schema = { type: 'object', properties };
  const headerNames = parametersIn('header').map(({ name }) => name);
  const readers = parameters.flatMap((parameter) => {
    const read = readerOf(parameter);
    return read ? [{ name: parameter.name, part: parameter.in, read }] : [];
  });
  return ({ params: path, query, headers }) => {
    const header = Object.fromEntries(headerNames.map((name) => [name, headers[name]]));
    const values: Record<Part, Record<string, unknown>> = { path, query, header };
    for (const { name, part, read } of readers) {
      if (values[part][name] !== undefined) values[part][name] = read(values[part][name]);
    }
    validateRequest(schema, values);
    return values;
  };
}

/** A converter of text to the parameter's type; undefined if none is needed. Text that it cannot read fails the schema. */
function readerOf(parameter: Omit<Parameter, 'name'>): ((given: unknown) => unknown) | undefined {
  const { type, enum: values = [], items } = parameter.schema;
  if (type === 'integer') return ofText((text) => (/^-?(0|[1-9]\d*)$/.test(text) ? finite(Number(text)) : text));
  if (parameter.in !== 'query') return undefined;
  if (items) {
    const read = readerOf({ in: 'query', schema: items }) ?? ((element) => element);
    const split = ofText((text) => ((parameter.explode ?? true) ? [text] : text.split(',')));
    return (given) => [split(given)].flat().map(read);
  }
  // Ignore letter case, because libraries write `True` and `PENDING_REVIEW`.
  const spellings = new Map(
    (type === 'boolean' ? [true, false] : values).map((value) => [String(value).toLowerCase(), value]),
  );
  return spellings.size > 0 ? ofText((text) => spellings.get(text.toLowerCase()) ?? text) : undefined;
}

/** Limits a number: hundreds of digits would parse as Infinity, reported as "not an integer" instead of too large. */
const finite = (number: number): number => Math.max(-Number.MAX_VALUE, Math.min(number, Number.MAX_VALUE));

/** Converts text. A repeated parameter is an array, which is passed on so that the schema rejects it. */
const ofText =
  (read: (text: string) => unknown) =>
  (given: unknown): unknown =>
    typeof given === 'string' ? read(given) : given;

/** The key without quotation marks, and the fingerprint: a hash of path, If-Match and canonical JSON body (RFC 8785). */
export function idempotencyOf(operationId: string, { headers, path }: Head, body: unknown): IdempotencyRequest | null {
  const given = headers[KEY_HEADER.toLowerCase()];
  if (typeof given !== 'string') return null;
  const content = [path, headers['if-match'], canonicalize(body)].join('\n');
  return {
    operationId,
    key: /^"(.*)"$/.exec(given)?.[1] ?? given,
    fingerprint: Buffer.from(hash('sha256', content, 'hex'), 'hex'),
  };
}
