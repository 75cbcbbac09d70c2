import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import canonicalize from 'canonicalize';
import type { IdempotencyRequest } from '../../context.js';
import { validateRequest } from './validation.js';

/** The header's name in the contract. */
export const KEY_HEADER = 'Idempotency-Key';

type Part = 'path' | 'query' | 'header';

/** A parameter of the contract. */
export interface Parameter {
  readonly name: string;
  readonly in: Part;
  readonly required?: boolean;
  /** Whether a list repeats the parameter; otherwise commas separate its elements. */
  readonly explode?: boolean;
  readonly schema: { readonly type?: unknown; readonly enum?: unknown[]; readonly items?: Parameter['schema'] };
}

/** A request without its body. */
export interface Head {
  /** As sent, without the query string. */
  readonly path: string;
  /** Path parameters by name. */
  readonly params: Record<string, string | undefined>;
  readonly query: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
}

/** Path, query and headers with the types and defaults of the contract. @throws Problem */
export type ReadParameters = (head: Head) => Readonly<Record<Part, object>>;

export function parameterReader(declared: readonly Parameter[]): ReadParameters {
  // Node gives the names of headers in lower case.
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

/** Turns text into a value; unreadable text stays and fails the schema. Undefined if the text is the value. */
function readerOf(parameter: Omit<Parameter, 'name'>): ((given: unknown) => unknown) | undefined {
  const { type, enum: values = [], items } = parameter.schema;
  if (type === 'integer') return ofText((text) => (/^-?(0|[1-9]\d*)$/.test(text) ? finite(Number(text)) : text));
  if (parameter.in !== 'query') return undefined;
  if (items) {
    const read = readerOf({ in: 'query', schema: items }) ?? ((element) => element);
    const split = ofText((text) => ((parameter.explode ?? true) ? [text] : text.split(',')));
    return (given) => [split(given)].flat().map(read);
  }
  // Libraries write `True` and `PENDING_REVIEW`, so ignore letter case.
  const spellings = new Map(
    (type === 'boolean' ? [true, false] : values).map((value) => [String(value).toLowerCase(), value]),
  );
  return spellings.size > 0 ? ofText((text) => spellings.get(text.toLowerCase()) ?? text) : undefined;
}

/** Hundreds of digits parse as Infinity, which the schema would reject as not an integer instead of too large. */
const finite = (number: number): number => Math.max(-Number.MAX_VALUE, Math.min(number, Number.MAX_VALUE));

/** Passes on a repeated parameter, which is an array: the schema decides. */
const ofText =
  (read: (text: string) => unknown) =>
  (given: unknown): unknown =>
    typeof given === 'string' ? read(given) : given;

/** The key without quotation marks, and the fingerprint of path and canonical JSON (RFC 8785). */
export function idempotencyOf(operationId: string, { headers, path }: Head, body: unknown): IdempotencyRequest | null {
  const given = headers[KEY_HEADER.toLowerCase()];
  if (typeof given !== 'string') return null;
  const content = `${path}\n${canonicalize(body) ?? ''}`;
  return {
    operationId,
    key: /^"(.*)"$/.exec(given)?.[1] ?? given,
    fingerprint: Buffer.from(hash('sha256', content, 'hex'), 'hex'),
  };
}
