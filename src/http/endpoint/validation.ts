import { _, type ErrorObject, type KeywordCxt } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { closestMatch } from 'leven';
import type { ProblemCode } from '../../contract.js';
import { Problem, type FieldError } from '../../problem.js';
import { MAX_FIELD_ERRORS } from './errors.js';

const { validate: isDateTime } = addFormats.default.get('date-time') as { validate: (text: string) => boolean };

/** Creates an Ajv whose `validate(schema, value)` compiles a schema object at its first use, for a quick start. */
function validator(useDefaults: boolean): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: true,
    useDefaults,
    // `make lint` checks the contract; compiling the meta-schema would take longer than all schemas in use.
    validateSchema: false,
    // Adds its schema to each error: the schema may name a problem code.
    verbose: true,
    strictTypes: false,
    strictRequired: false,
    allowUnionTypes: true,
  });
  ajv.addVocabulary(['example', 'externalDocs', 'xml', 'x-extensible-enum', 'x-hint', 'x-problem-codes']);
  addFormats.default(ajv);
  // Remove fractions: ajv-formats parses seconds as a float, and enough decimals would round up to the next second.
  ajv.addFormat('date-time', (text: string) => isDateTime(text.replace(/\.\d+/, '')));
  // Ignore these formats, which are hints for code generators: `minimum` and `maximum` check the same limits.
  for (const format of ['int32', 'int64']) ajv.addFormat(format, true);
  for (const keyword of ['pattern', 'format']) skipAbove(ajv, 'maxLength', keyword);
  for (const keyword of ['items', 'uniqueItems']) skipAbove(ajv, 'maxItems', keyword);
  return ajv;
}

/** Makes a check skip values far above a limit: with `allErrors`, large bad requests would cost too much CPU time. */
function skipAbove(ajv: Ajv2020, limit: 'maxLength' | 'maxItems', keyword: string): void {
  const definition = ajv.getKeyword(keyword);
  if (typeof definition !== 'object' || !('code' in definition))
    throw new Error(`Ajv has no code for ${keyword}: adapt skipAbove to this version of Ajv.`);
  const code = (cxt: KeywordCxt, ruleType?: string): void => {
    const max: unknown = cxt.parentSchema[limit];
    // Double the limit, because `length` counts UTF-16 units and maxLength counts characters of one or two units.
    const isWithin = typeof max === 'number' ? _`${cxt.data}.length <= ${2 * max}` : true;
    cxt.gen.if(isWithin, () => definition.code(cxt, ruleType));
  };
  ajv.removeKeyword(keyword).addKeyword({ ...definition, code });
}

const requestValidator = validator(true);
/** Validates responses without filling in defaults, which would hide a missing property. */
const responseValidator = validator(false);

/** Validates `{ path, query, header }` or `{ body }` of a request and fills in defaults. @throws Problem */
export function validateRequest(schema: object, parts: object): void {
  if (!requestValidator.validate(schema, parts)) throw validationProblem(requestValidator.errors ?? []);
}

/** The parts of a JSON Schema that show which members of a body are optional. */
export interface BodySchema {
  readonly properties?: Readonly<Record<string, BodySchema>>;
  readonly required?: readonly string[];
  readonly items?: BodySchema;
}

/** Deletes optional members that are null (D-49). Runs before validation, since `minProperties` counts what remains. */
export function deleteNulls(body: unknown, { properties = {}, required = [], items }: BodySchema): void {
  if (typeof body !== 'object' || body === null) return;
  if (items && Array.isArray(body)) return body.forEach((element) => deleteNulls(element, items));
  const members = body as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!schema) continue;
    if (members[name] !== null) deleteNulls(members[name], schema);
    else if (!required.includes(name)) Reflect.deleteProperty(members, name);
  }
}

/** The form of a property's name. Only such a name is repeated to the caller; any other text may be health data. */
const PROPERTY_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Schema paths of errors that Ajv reports beside a clearer one: of `if`, of `anyOf`, and of the types in an `anyOf`. */
const INDIRECT = /\/(if|anyOf(\/\d+\/type)?)$/;

/** The problem for validation errors: locations and rules, never values. A schema may name another problem code. */
function validationProblem(all: readonly ErrorObject[]): Problem {
  // One more error than a response lists, so that the response can say that there are more.
  const errors = all.filter(({ schemaPath }) => !INDIRECT.test(schemaPath)).slice(0, MAX_FIELD_ERRORS + 1);
  const [code, ...others] = new Set(errors.map(namedCode));
  const malformed = new Set(
    errors.filter(({ keyword }) => keyword === 'format').map(({ instancePath }) => instancePath),
  );
  // Omit the error of a pattern if the format of the same value failed, because the format is easier to read.
  const listed = errors.filter(({ keyword, instancePath }) => keyword !== 'pattern' || !malformed.has(instancePath));
  return new Problem((others.length === 0 && code) || 'validation_failed', undefined, {
    errors: listed.map(fieldError),
  });
}

function namedCode({ keyword, params, parentSchema }: ErrorObject): ProblemCode | undefined {
  // This header is recognized here: Ajv reports it for the object of all headers, which has no schema in the contract.
  if (keyword === 'required' && params['missingProperty'] === 'idempotency-key') return 'idempotency_key_required';
  const codes = parentSchema?.['x-problem-codes'] as Readonly<Record<string, ProblemCode>> | undefined;
  return codes?.[keyword];
}

function fieldError(error: ErrorObject): FieldError {
  const { instancePath, keyword: code, params } = error;
  // For a missing or unknown property, Ajv reports the location of the parent object and the name.
  const name: unknown = params['missingProperty'] ?? params['additionalProperty'];
  const location = typeof name === 'string' && PROPERTY_NAME.test(name) ? `${instancePath}/${name}` : instancePath;
  const [, part, ...path] = location.split('/');
  const detail = detailOf(error);
  if (part === 'body') return { pointer: ['#', ...path].join('/'), code, detail };
  const [parameter] = path;
  return parameter === undefined ? { code, detail } : { parameter, code, detail };
}

/** For rules without a text below; Ajv's texts are for programmers. A test shows that no rule of the contract needs it. */
const NOT_VALID = 'is not valid';

/** The texts for formats whose schema has no `x-hint`. */
const formatHints: Readonly<Record<string, string>> = {
  uuid: 'must be a UUID, for example 01a05c32-5e80-7000-8000-00000000c001',
  date: 'must be a date, for example 2026-11-20',
  'date-time': 'must be a date-time with a zone, for example 2026-11-20T15:30:00Z',
  uri: 'must be an absolute URL',
};

const typeNames: Readonly<Record<string, string>> = {
  string: 'must be a string',
  integer: 'must be a whole number',
  number: 'must be a number',
  boolean: 'must be true or false',
  array: 'must be an array',
  object: 'must be an object',
};

const countText = (limit: number, things: string): string =>
  limit === 1 ? 'must not be empty' : `must have at least ${limit} ${things}`;

/** The texts for limits. */
const limitTexts: Readonly<Record<string, (limit: number) => string>> = {
  minimum: (limit) => `must be at least ${limit}`,
  maximum: (limit) => `must be at most ${limit}`,
  minLength: (limit) => countText(limit, 'characters'),
  maxLength: (limit) => `must have at most ${limit} characters`,
  minItems: (limit) => countText(limit, 'elements'),
  maxItems: (limit) => `must have at most ${limit} elements`,
  minProperties: (limit) => countText(limit, 'members'),
  uniqueItems: () => 'must not contain an element twice',
};

function detailOf({ keyword, params, parentSchema = {} }: ErrorObject): string {
  const hint = parentSchema['x-hint'] as string | undefined;
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
      return unrecognized(String(params['additionalProperty']), parentSchema);
    case 'enum':
      return `must be one of ${(params['allowedValues'] as unknown[]).filter(Boolean).join(', ')}`;
    case 'type':
      return typeHint(parentSchema) ?? NOT_VALID;
    case 'pattern':
      return hint ?? NOT_VALID;
    case 'format':
      return hint ?? formatHints[String(params['format'])] ?? NOT_VALID;
    default:
      return limitTexts[keyword]?.(Number(params['limit'])) ?? NOT_VALID;
  }
}

/** The type that a value must have. The hint of a string is not used, because it is about the characters. */
function typeHint({ type, 'x-hint': hint }: NonNullable<ErrorObject['parentSchema']>): string | undefined {
  const [name = ''] = [type as string | readonly string[]].flat();
  return name === 'string' ? typeNames[name] : ((hint as string | undefined) ?? typeNames[name]);
}

/** The text for an unknown property, with the name that the caller probably meant. It does not repeat the unknown name. */
function unrecognized(name: string, schema: NonNullable<ErrorObject['parentSchema']>): string {
  if (!PROPERTY_NAME.test(name)) return 'contains a name that is not recognized; remove it';
  const properties = (schema['properties'] ?? {}) as object;
  // Allow fewer differences in short names, which resemble too many others. Skip long names: comparing them would take
  // longer than a valid request.
  const options = { maxDistance: Math.floor(name.length / 4) };
  const known = name.length > 40 ? undefined : closestMatch(name, Object.keys(properties), options);
  return `is not recognized; ${known === undefined ? 'remove it' : `perhaps ${known} is meant`}`;
}

/** The response of an operation, to be sent. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The responses that the contract declares for an operation, by status. */
export type DeclaredResponses = Readonly<
  Record<string, { readonly content?: Readonly<Partial<Record<string, { readonly schema?: object }>>> }>
>;

const NO_CONTENT = { 'application/json': { schema: { type: 'null' } } };

/** Checks a response. @throws Error that names locations and rules, not values */
export function validateResponse(operationId: string, declared: DeclaredResponses, { status, body }: Answer): void {
  const response = declared[status];
  if (!response)
    throw new Error(`${operationId} answered ${status}, which the contract does not declare: correct one of them`);
  const { 'application/json': json } = response.content ?? NO_CONTENT;
  if (!json?.schema || responseValidator.validate(json.schema, body)) return;
  const errors = responseValidator.errorsText(undefined, { dataVar: '', separator: '; ' });
  throw new Error(`${operationId} ${status} breaks the contract, correct one of them: ${errors}`);
}

/** Number of a list's elements to check in a sandbox: checking all would take CPU time from other tenants (R-92). */
const SAMPLE = 4;

/** The response with a sample of its list, taken evenly from all of it, for checking. */
export function sampled(answer: Answer): Answer {
  const body = Object(answer.body) as { readonly data?: unknown };
  const { data } = body;
  if (!Array.isArray(data) || data.length <= SAMPLE) return answer;
  const elementAt = (_: unknown, index: number): unknown => data[Math.floor((index * data.length) / SAMPLE)];
  return { ...answer, body: { ...body, data: Array.from({ length: SAMPLE }, elementAt) } };
}
