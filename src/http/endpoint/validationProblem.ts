import type { ErrorObject } from 'ajv';
import type { ProblemCode } from '../../contract.js';
import { Problem, type FieldError } from '../../problem.js';
import { MAX_FAULTS } from './errors.js';

/** A name that looks like a property's may be repeated to the caller; anything else could be health data. */
const PROPERTY_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/**
 * The problem of a request `{ path, query, header }` or `{ body }`: locations and rules, no values. If its schemas name
 * one code for all errors (`x-problem-codes`), it has that code.
 */
export function validationProblem(all: readonly ErrorObject[]): Problem {
  // One more than a response lists, so that the response says that there are more.
  const errors = all.slice(0, MAX_FAULTS + 1);
  const [code, ...others] = new Set(errors.map(namedCode));
  const malformed = new Set(
    errors.filter(({ keyword }) => keyword === 'format').map(({ instancePath }) => instancePath),
  );
  // A pattern beside a format repeats it: the format is easier to read.
  const told = errors.filter(({ keyword, instancePath }) => keyword !== 'pattern' || !malformed.has(instancePath));
  return new Problem((others.length === 0 && code) || 'validation_failed', undefined, { errors: told.map(fieldError) });
}

function namedCode({ keyword, params, parentSchema }: ErrorObject): ProblemCode | undefined {
  // A missing header is an error of the object of all headers, which has no schema in the contract.
  if (keyword === 'required' && params['missingProperty'] === 'idempotency-key') return 'idempotency_key_required';
  const codes = parentSchema?.['x-problem-codes'] as Readonly<Record<string, ProblemCode>> | undefined;
  return codes?.[keyword];
}

function fieldError({ instancePath, keyword: code, params, message = 'is not valid' }: ErrorObject): FieldError {
  // Ajv locates the parent of a missing or unknown property.
  const name: unknown = params['missingProperty'] ?? params['additionalProperty'];
  const location = typeof name === 'string' && PROPERTY_NAME.test(name) ? `${instancePath}/${name}` : instancePath;
  const [, part, ...path] = location.split('/');
  const detail = detailOf(code, params, message);
  if (part === 'body') return { pointer: ['#', ...path].join('/'), code, detail };
  const [parameter] = path;
  return parameter === undefined ? { code, detail } : { parameter, code, detail };
}

function detailOf(keyword: string, params: ErrorObject['params'], message: string): string {
  if (keyword === 'required') return 'is required';
  if (keyword === 'additionalProperties') return 'is not known here';
  const allowed: unknown = params['allowedValues'];
  return Array.isArray(allowed) ? `must be one of ${allowed.join(', ')}` : message;
}
