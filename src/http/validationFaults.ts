import type { ErrorObject } from 'ajv';
import type { ProblemCode } from '../contract.js';
import { Problem, type FieldError } from '../problem.js';

/** A name that looks like a property's may be repeated to the caller; anything else could be health data. */
const PROPERTY_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** What the schemas found wrong, located, without values; a schema may name a more precise code (`x-problem-codes`). */
export function validationProblem(errors: readonly ErrorObject[]): Problem {
  const [code = null, ...others] = new Set(errors.map(namedCode));
  const faults = withoutRepetition(errors).map(fieldError);
  return new Problem(others.length > 0 || code === null ? 'validation_failed' : code, undefined, { errors: faults });
}

/** A pattern beside a format says what the format means; where both fail, the format is easier to read. */
function withoutRepetition(errors: readonly ErrorObject[]): ErrorObject[] {
  const ofFormat = errors.filter(({ keyword }) => keyword === 'format');
  const malformed = new Set(ofFormat.map(({ instancePath }) => instancePath));
  return errors.filter(({ keyword, instancePath }) => keyword !== 'pattern' || !malformed.has(instancePath));
}

/** Needs Ajv's `verbose`. The contract's lint sees to it that only known codes are named. */
function namedCode({ keyword, params, parentSchema }: ErrorObject): ProblemCode | null {
  // openapi-backend puts the schemas of all headers into one, which has no place for a code.
  if (keyword === 'required' && params['missingProperty'] === 'idempotency-key') return 'idempotency_key_required';
  const codes: unknown = parentSchema?.['x-problem-codes'];
  return typeof codes === 'object' && codes !== null ? ((codes as Record<string, ProblemCode>)[keyword] ?? null) : null;
}

function fieldError(error: ErrorObject): FieldError {
  const [, part, ...rest] = error.instancePath.split('/');
  const named = offendingName(error);
  const detail = detailOf(error);
  const code = error.keyword;
  if (part === 'requestBody' || (part === undefined && named === 'requestBody')) {
    const path = [...rest, ...(part !== undefined && named !== null ? [named] : [])];
    return { pointer: ['#', ...path].join('/'), code, detail };
  }
  const parameter = rest[0] ?? named;
  return parameter === null ? { code, detail } : { parameter, code, detail };
}

/** The property that is missing or unknown: Ajv locates its parent. */
function offendingName({ params }: ErrorObject): string | null {
  const name: unknown = params['missingProperty'] ?? params['additionalProperty'];
  return typeof name === 'string' && PROPERTY_NAME.test(name) ? name : null;
}

function detailOf({ keyword, params, message = 'is not valid' }: ErrorObject): string {
  if (keyword === 'required') return 'is required';
  if (keyword === 'additionalProperties') return 'is not known here';
  const allowed: unknown = params['allowedValues'];
  return Array.isArray(allowed) ? `must be one of ${allowed.join(', ')}` : message;
}
