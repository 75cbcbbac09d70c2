import type { IncomingHttpHeaders } from 'node:http';
import { validationProblem } from './validationProblem.js';
import { requestValidator } from './validators.js';

type Place = 'path' | 'query' | 'header';

/** A parameter of the contract. */
export interface Parameter {
  readonly name: string;
  readonly in: Place;
  readonly required?: boolean;
  /** Whether a list repeats the parameter; otherwise commas separate its elements. */
  readonly explode?: boolean;
  readonly schema: { readonly type?: unknown; readonly enum?: unknown[]; readonly items?: Parameter['schema'] };
}

/** A request without its body. */
export interface Head {
  /** As sent, without the query. */
  readonly path: string;
  /** Path parameters by name. */
  readonly params: Record<string, string | undefined>;
  readonly query: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
}

/** Path and query with the types and defaults of the contract. @throws Problem */
export type ReadParameters = (head: Head) => { readonly path: object; readonly query: object };

/** Makes the function that reads the parameters of an operation. */
export function parameterReader(declared: readonly Parameter[]): ReadParameters {
  // Node has the names of headers in lower case.
  const parameters = declared.map((one) => (one.in === 'header' ? { ...one, name: one.name.toLowerCase() } : one));
  const inPlace = (place: Place): Parameter[] => parameters.filter((parameter) => parameter.in === place);
  const schemaOf = (place: Place): object => ({
    type: 'object',
    properties: Object.fromEntries(inPlace(place).map(({ name, schema }) => [name, schema])),
    required: inPlace(place).flatMap(({ name, required }) => (required ? [name] : [])),
    additionalProperties: false,
  });
  const properties = { path: schemaOf('path'), query: schemaOf('query'), header: schemaOf('header') };
  const schema = { type: 'object', properties };
  const headerNames = inPlace('header').map(({ name }) => name);
  const readers = parameters.flatMap((parameter) => {
    const read = readerOf(parameter);
    return read ? [{ name: parameter.name, place: parameter.in, read }] : [];
  });
  return ({ params: path, query, headers }) => {
    const header = Object.fromEntries(headerNames.map((name) => [name, headers[name]]));
    const values: Record<Place, Record<string, unknown>> = { path, query, header };
    for (const { name, place, read } of readers) {
      if (values[place][name] !== undefined) values[place][name] = read(values[place][name]);
    }
    if (!requestValidator.validate(schema, values)) throw validationProblem(requestValidator.errors ?? []);
    return values;
  };
}

/** Turns text into a value; text that it cannot read stays and fails the schema. Undefined if text is the value. */
function readerOf(parameter: Omit<Parameter, 'name'>): ((given: unknown) => unknown) | undefined {
  const { type, enum: values = [], items } = parameter.schema;
  if (type === 'integer') return ofText((text) => (/^-?(0|[1-9]\d*)$/.test(text) ? finite(Number(text)) : text));
  if (parameter.in !== 'query') return undefined;
  if (items) {
    const read = readerOf({ in: 'query', schema: items }) ?? ((element) => element);
    const split = ofText((text) => ((parameter.explode ?? true) ? [text] : text.split(',')));
    return (given) => [split(given)].flat().map(read);
  }
  // Libraries write `True` and `PENDING_REVIEW`: letter case does not count.
  const spellings = new Map(
    (type === 'boolean' ? [true, false] : values).map((value) => [String(value).toLowerCase(), value]),
  );
  return spellings.size > 0 ? ofText((text) => spellings.get(text.toLowerCase()) ?? text) : undefined;
}

/** Hundreds of digits are an infinite number, which is no integer to the schema, but only too large. */
const finite = (number: number): number => Math.max(-Number.MAX_VALUE, Math.min(number, Number.MAX_VALUE));

/** A repeated parameter is an array: the schema decides. */
const ofText =
  (read: (text: string) => unknown) =>
  (given: unknown): unknown =>
    typeof given === 'string' ? read(given) : given;
