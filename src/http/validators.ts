import { _, type AnySchema, type KeywordCxt, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { AjvCustomizer } from 'openapi-backend';
import { MOST_FAULTS } from './errors.js';

const compilers = new Map<string, Ajv2020>();

/**
 * OpenAPI 3.1 speaks JSON Schema 2020-12, which openapi-backend would read as draft 7 and without formats. One Ajv for
 * each purpose, because a new one for every schema takes seconds.
 */
export const schemaCompiler: AjvCustomizer = (_original, options, purpose) => {
  const compiler = compilers.get(purpose) ?? newCompiler(options, purpose);
  compilers.set(purpose, compiler);
  return compiler;
};

const isDateTime = addFormats
  .default(new Ajv2020({ validateSchema: false }))
  .compile<string>({ type: 'string', format: 'date-time' });

/** ajv-formats reads the seconds as a float, and many decimal places make the next one of it. */
const withAnyFraction = (text: string): boolean => isDateTime(text.replace(/\.\d+/, ''));

function newCompiler(options: Options, purpose: string): Ajv2020 {
  const ajv = new Ajv2020({
    ...options,
    // The contract is linted; to compile the schema of schemas takes longer than to compile those that are used.
    validateSchema: false,
    // A default filled into a response would hide that it is missing.
    useDefaults: !purpose.startsWith('response'),
    // Errors carry their schema, which may name a code.
    verbose: true,
    strict: true,
    // Coercion makes Infinity of "1e400", for which a strict Ajv leaves the limits unchecked.
    strictNumbers: purpose !== 'paramsValidator',
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
    // An event is checked against the schema of its type, not against each.
    discriminator: true,
  });
  for (const annotation of ['example', 'externalDocs', 'xml', 'x-extensible-enum', 'x-problem-codes']) {
    ajv.addKeyword(annotation);
  }
  addFormats.default(ajv);
  ajv.addFormat('date-time', withAnyFraction);
  // Advice for generators of code. What is allowed is between minimum and maximum, and out of it is one fault, not two.
  for (const format of ['int32', 'int64']) ajv.addFormat(format, true);
  for (const keyword of ['pattern', 'format']) onlyWithin(ajv, 'maxLength', keyword);
  for (const keyword of ['items', 'uniqueItems']) onlyWithin(ajv, 'maxItems', keyword);
  return compilingOnce(ajv);
}

/** With `allErrors` Ajv would check what is too long, too: a bad request would cost more than its limits admit. */
function onlyWithin(ajv: Ajv2020, limit: 'maxLength' | 'maxItems', keyword: string): void {
  const definition = ajv.getKeyword(keyword);
  if (typeof definition !== 'object' || !('code' in definition)) throw new Error(`Ajv has no code for ${keyword}`);
  const code = (cxt: KeywordCxt, ruleType?: string): void => {
    const most: unknown = cxt.parentSchema[limit];
    // `length` counts UTF-16 units; maxLength counts characters, each of which has two at most.
    const isWithin = typeof most === 'number' ? _`${cxt.data}.length <= ${2 * most}` : true;
    cxt.gen.if(isWithin, () => definition.code(cxt, ruleType));
  };
  ajv.removeKeyword(keyword).addKeyword({ ...definition, code });
}

/**
 * Each schema is compiled once, by its text, because openapi-backend does not keep the identity by which Ajv knows one
 * again; and not before its first use, so that a start is quick.
 */
function compilingOnce(ajv: Ajv2020): Ajv2020 {
  const known = new Map<string, ValidateFunction>();
  const compile = ajv.compile.bind(ajv);
  const compileOnce = (schema: AnySchema): ValidateFunction => {
    const text = JSON.stringify(schema);
    const validate = known.get(text) ?? compiledLater(() => compile(schema));
    known.set(text, validate);
    return validate;
  };
  ajv.compile = compileOnce as Ajv2020['compile'];
  return ajv;
}

function compiledLater(compile: () => ValidateFunction): ValidateFunction {
  let compiled: ValidateFunction | undefined;
  const validate = (data: unknown): boolean => {
    compiled ??= compile();
    const isValid = compiled(data);
    // openapi-backend makes an argument of each error, of which a call admits only so many.
    Object.assign(validate, { errors: compiled.errors?.slice(0, MOST_FAULTS + 1) ?? null });
    return isValid;
  };
  return validate as ValidateFunction;
}
