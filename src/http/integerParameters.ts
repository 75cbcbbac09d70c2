import type { Operation, ParsedRequest } from 'openapi-backend';
import { Problem, type FieldError } from '../problem.js';

type Values = Readonly<Record<string, unknown>>;

/**
 * Ajv turns every spelling that JavaScript reads as a number into one: "0x10", "1e2", " 7 ". An integer here has digits
 * only, so that one record has one address.
 * @throws Problem validation_failed
 */
export function requireDigits({ parameters = [] }: Operation, request: ParsedRequest): void {
  const values = { path: request.params as Values, query: request.query as Values };
  const errors = parameters.flatMap((parameter): FieldError[] => {
    if (!('schema' in parameter) || !('type' in parameter.schema) || parameter.schema.type !== 'integer') return [];
    const given = (parameter.in === 'path' ? values.path : values.query)[parameter.name];
    if (typeof given !== 'string' || /^-?(0|[1-9]\d*)$/.test(given)) return [];
    return [{ parameter: parameter.name, code: 'type', detail: 'must be integer' }];
  });
  if (errors.length > 0) throw new Problem('validation_failed', undefined, { errors });
}
