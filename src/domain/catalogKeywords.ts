import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';

interface UniqueBy {
  readonly members: readonly string[];
  readonly ignoreCase?: boolean;
}

/**
 * Ajv keyword `uniqueBy: { members, ignoreCase? }`: no two elements of an array have the same text in all these
 * members. Each repetition is a fault of its own that names the element it repeats.
 */
export const uniqueBy: FuncKeywordDefinition = {
  keyword: 'uniqueBy',
  type: 'array',
  schemaType: 'object',
  errors: 'full',
  validate: collecting(({ members, ignoreCase }: UniqueBy, elements, path) => {
    const seen = new Map<string, number>();
    return elements.flatMap((element, index) => {
      const values = members.map((member) => textOf(element, member));
      if (values.includes(undefined)) return [];
      const text = JSON.stringify(values);
      const key = ignoreCase === true ? text.toLowerCase() : text;
      const first = seen.get(key);
      if (first === undefined) seen.set(key, index);
      if (first === undefined) return [];
      return [{ path: `${path}/${index}`, message: `repeats ${members.join(' and ')} of ${path}/${first}` }];
    });
  }),
};

/** Ajv keyword `exactlyOne: member`: in an array that is not empty, this flag is true in exactly one element. */
export const exactlyOne: FuncKeywordDefinition = {
  keyword: 'exactlyOne',
  type: 'array',
  schemaType: 'string',
  errors: 'full',
  validate: collecting((member: string, elements, path) => {
    const marked = elements.flatMap((element, index) => (memberOf(element, member) === true ? [index] : []));
    if (elements.length === 0 || marked.length === 1) return [];
    const message = `${member} must be true in exactly one element`;
    return marked.length === 0
      ? [{ path, message }]
      : marked.slice(1).map((index) => ({ path: `${path}/${index}`, message }));
  }),
};

interface Found {
  readonly path: string;
  readonly message: string;
}

/** Makes a keyword from a function that returns what is wrong, and at which instance path. */
function collecting<Schema>(
  rule: (schema: Schema, elements: readonly unknown[], path: string) => Found[],
): SchemaValidateFunction {
  const validate: SchemaValidateFunction = (schema: Schema, elements: readonly unknown[], _parent, at) => {
    const found = rule(schema, elements, at?.instancePath ?? '');
    validate.errors = found.map(({ path, message }) => ({ instancePath: path, message }));
    return found.length === 0;
  };
  return validate;
}

function memberOf(element: unknown, name: string): unknown {
  return typeof element === 'object' && element !== null ? Reflect.get(element, name) : undefined;
}

function textOf(element: unknown, name: string): string | undefined {
  const value = memberOf(element, name);
  return typeof value === 'string' ? value : undefined;
}
