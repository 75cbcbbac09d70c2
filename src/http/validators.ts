import type { AnySchema, Options, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { AjvCustomizer } from 'openapi-backend';

/**
 * OpenAPI 3.1 speaks JSON Schema 2020-12; openapi-backend alone would read it as draft 7, check no format and ignore what
 * it does not know. One Ajv for each purpose, because a new one for every schema takes seconds.
 */
export function schemaCompilers(): AjvCustomizer {
  const compilers = new Map<string, Ajv2020>();
  return (_original, options, purpose) => {
    const compiler = compilers.get(purpose) ?? newCompiler(options, purpose);
    compilers.set(purpose, compiler);
    return compiler;
  };
}

const isDateTime = addFormats.default(new Ajv2020()).compile<string>({ type: 'string', format: 'date-time' });

/** ajv-formats reads the seconds as a float, and many decimal places make the next one of it. */
const withAnyFraction = (text: string): boolean => isDateTime(text.replace(/\.\d+/, ''));

function newCompiler(options: Options, purpose: string): Ajv2020 {
  const ajv = new Ajv2020({
    ...options,
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
  });
  for (const annotation of ['example', 'externalDocs', 'xml', 'discriminator', 'x-extensible-enum', 'x-problem-codes']) {
    ajv.addKeyword(annotation);
  }
  addFormats.default(ajv);
  ajv.addFormat('date-time', withAnyFraction);
  return compilingOnce(ajv, purpose.startsWith('response'));
}

/**
 * Most schemas are those of answers that all operations have, and Ajv knows a schema again only by its identity, which
 * openapi-backend does not keep: each is compiled once, by its text.
 * @param whenNeeded not before the first use: only tests and sandboxes check answers, and a start should be quick
 */
function compilingOnce(ajv: Ajv2020, whenNeeded: boolean): Ajv2020 {
  const known = new Map<string, ValidateFunction>();
  const compile = ajv.compile.bind(ajv);
  const compileOnce = (schema: AnySchema): ValidateFunction => {
    const text = JSON.stringify(schema);
    const validate = known.get(text) ?? (whenNeeded ? lazily(() => compile(schema)) : compile(schema));
    known.set(text, validate);
    return validate;
  };
  ajv.compile = compileOnce as Ajv2020['compile'];
  return ajv;
}

function lazily(compile: () => ValidateFunction): ValidateFunction {
  let compiled: ValidateFunction | undefined;
  const validate = (data: unknown): boolean => {
    compiled ??= compile();
    const isValid = compiled(data);
    Object.assign(validate, { errors: compiled.errors });
    return isValid;
  };
  return validate as ValidateFunction;
}
