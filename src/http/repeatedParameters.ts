import type { Operation } from 'openapi-backend';
import { Problem, type FieldError } from '../problem.js';

/**
 * A list in the query is one parameter, its elements separated by commas (`explode: false`). openapi-backend would
 * take the parameter several times as well, each time with one element.
 * @param query as it was sent, before lists are split
 * @throws Problem validation_failed
 */
export function refuseRepeated({ parameters = [] }: Operation, query: Readonly<Record<string, unknown>>): void {
  const errors = parameters.flatMap((parameter): FieldError[] => {
    if (!('name' in parameter) || parameter.in !== 'query' || parameter.explode !== false) return [];
    if (!Array.isArray(query[parameter.name])) return [];
    return [{ parameter: parameter.name, code: 'repeated', detail: 'must be one list, separated by commas' }];
  });
  if (errors.length > 0) throw new Problem('validation_failed', undefined, { errors });
}
