import type { IncomingHttpHeaders } from 'node:http';
import type { ValidateFunction } from 'ajv';
import type { Operation } from 'openapi-backend';
import { Problem, type FieldError } from '../problem.js';
import { validationProblem } from './validationFaults.js';

type Place = 'path' | 'query' | 'header';

/** A parameter of the contract, as far as its text has to be made a value. */
interface Parameter {
  readonly name: string;
  readonly place: Place;
  readonly type: unknown;
  /** Whether each element of a list is a parameter of its own; otherwise commas part them. */
  readonly explode: boolean;
  /** Of a boolean, of an enum, or of the elements of a list: the contract's spelling of each value, by its lower case. */
  readonly spellings: ReadonlyMap<string, string>;
}

/** A request without its body. */
export interface Head {
  /** As it was sent, without the query. */
  readonly path: string;
  /** Of the path, by name. */
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
}

/** Path and query with the types and defaults of the contract. */
export type ReadParameters = (head: Head) => { readonly path: object; readonly query: object };

/**
 * Makes the function that reads the parameters of an operation.
 * @param validate openapi-backend's validator of all parameters, which coerces them and fills in defaults
 * @throws Error when the contract has a parameter of a kind that nobody reads
 */
export function parameterReader(
  declared: NonNullable<Operation['parameters']>,
  validate: ValidateFunction,
): ReadParameters {
  const parameters = declared.map(parameterOf);
  const headerNames = parameters.filter(({ place }) => place === 'header').map(({ name }) => name.toLowerCase());
  const integers = parameters.filter(({ type }) => type === 'integer');
  const lists = parameters.filter(({ type, place }) => type === 'array' && place === 'query');
  const spelled = parameters.filter(({ spellings, place }) => spellings.size > 0 && place === 'query');
  return ({ params, query, headers }) => {
    const header = Object.fromEntries(headerNames.map((name) => [name, headers[name]]));
    const values = { path: params, query, header, cookie: {} };
    for (const { name, explode } of lists) {
      const text = query[name];
      if (typeof text === 'string') query[name] = explode || text === '' ? [text] : text.split(',');
    }
    for (const { name, spellings } of spelled) {
      if (query[name] !== undefined) query[name] = respelled(query[name], spellings);
    }
    requireDigits(integers, values);
    if (!validate(values)) throw validationProblem(validate.errors ?? []);
    return values;
  };
}

function parameterOf(parameter: NonNullable<Operation['parameters']>[number]): Parameter {
  if ('name' in parameter && parameter.schema && ['path', 'query', 'header'].includes(parameter.in)) {
    const { name, in: place, schema, explode = true } = parameter;
    const type = 'type' in schema ? schema.type : undefined;
    return { name, place: place as Place, type, explode, spellings: spellingsOf(schema as ValueSchema) };
  }
  throw new Error('The contract has a parameter that is neither in path, query nor header, or has no schema');
}

/** The parts of a JSON Schema that name values. */
interface ValueSchema {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: ValueSchema;
}

function spellingsOf({ type, enum: values = [], items }: ValueSchema): ReadonlyMap<string, string> {
  if (items) return spellingsOf(items);
  const texts = type === 'boolean' ? ['true', 'false'] : values.filter((value) => typeof value === 'string');
  return new Map(texts.map((text) => [text.toLowerCase(), text]));
}

/** Values count in any letter case: libraries write `True` and `PENDING_REVIEW`. What is unknown is left to validation. */
function respelled(value: unknown, spellings: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((element) => respelled(element, spellings));
  return typeof value === 'string' ? (spellings.get(value.toLowerCase()) ?? value) : value;
}

/** Ajv takes "0x10", "1e2" and " 7 " for numbers: an integer has digits only here, so that a record has one address. @throws Problem */
function requireDigits(
  integers: readonly Parameter[],
  values: Readonly<Record<Place, Readonly<Record<string, unknown>>>>,
): void {
  const errors = integers.flatMap(({ name, place }): FieldError[] => {
    const given = values[place][name];
    if (typeof given !== 'string' || /^-?(0|[1-9]\d*)$/.test(given)) return [];
    return [{ parameter: name, code: 'type', detail: 'must be integer' }];
  });
  if (errors.length > 0) throw new Problem('validation_failed', undefined, { errors });
}
