import { seedCast } from '../support/cast.js';
import { exampleBody, operations, requiredHeaders, targetOf } from '../support/contract.js';
import type { ContractOperation, Schema } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { thingsOf } from '../support/sandbox.js';

// Derives from each schema requests that break one of its rules each.

/** The rules of a schema from which a wrong value can be derived. */
interface Rules extends Schema {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minimum?: number;
  readonly items?: Rules;
  readonly properties?: Readonly<Record<string, Rules>>;
}

/** A value that breaks one rule, the place of the fault in it, the rule's keyword, and what the detail says of it. */
interface Wrong {
  readonly keyword: string;
  readonly value: unknown;
  readonly place: string;
  readonly says?: RegExp;
}

/** Words of the contract's machinery, which say nothing to people, and lists with an empty element. */
const machinery = /match (pattern|format)|contract|schema|\\d|\[a-z|must not have|[<>]=|is not valid|, ?(,|\.?$)/i;

const typesOf = ({ type }: Schema): readonly string[] => [type ?? []].flat();

/** Wrong values for a schema: one for each of its rules and of its members' rules, made from a right value. */
function wrongValues(schema: Rules, right: unknown, place: string): Wrong[] {
  const here = (keyword: string, value: unknown): Wrong => ({ keyword, value, place });
  const wrong: Wrong[] = [];
  const types = typesOf(schema);
  if (types.length > 0 && !types.includes('object')) wrong.push(here('type', { a: 'wrong' }));
  if (types.length > 0 && !types.includes('array')) wrong.push(here('type', ['wrong']));
  if (schema.enum) wrong.push(here('enum', 'no such value'));
  if (schema.format !== undefined && types.includes('string')) wrong.push(here('format', 'wrong'));
  if (schema.pattern !== undefined && schema.format === undefined) wrong.push(here('pattern', '\u0000'));
  if ((schema.minLength ?? 0) > 0) wrong.push(here('minLength', ''));
  if (schema.maxLength !== undefined) wrong.push(here('maxLength', 'x'.repeat(schema.maxLength + 1)));
  if (schema.minimum !== undefined) wrong.push(here('minimum', schema.minimum - 1));
  if (schema.maximum !== undefined) wrong.push(here('maximum', schema.maximum + 1));
  if ((schema.minItems ?? 0) > 0) wrong.push(here('minItems', []));
  const [element] = Array.isArray(right) ? right : [];
  if (schema.maxItems !== undefined) wrong.push(here('maxItems', Array(schema.maxItems + 1).fill(element)));
  if (schema.uniqueItems && element !== undefined) wrong.push(here('uniqueItems', [element, element]));
  if (schema.items) {
    for (const inner of wrongValues(schema.items, element, `${place}/0`)) {
      wrong.push({ ...inner, value: [inner.value] });
    }
  }
  return [...wrong, ...wrongMembers(schema, right, place)];
}

/** Wrong objects: a missing, an unknown and a wrong member each. */
function wrongMembers({ properties, required = [], ...rest }: Rules, right: unknown, place: string): Wrong[] {
  if (!properties) return [];
  const members = (right ?? {}) as Readonly<Record<string, unknown>>;
  const missing = required.map((name) => {
    const { [name]: _left, ...value } = members;
    return { keyword: 'required', value, place: `${place}/${name}`, says: /is required/ };
  });
  const misspelled = Object.keys(properties).filter((name) => place === '#' && name.length > 3);
  const similar = misspelled.map((name) => ({
    keyword: 'additionalProperties',
    value: { ...members, [`${name}s`]: members[name] ?? 'x' },
    place: `${place}/${name}s`,
    says: new RegExp(`^${name}s: .*perhaps ${name} is meant`),
  }));
  const unknown = { keyword: 'additionalProperties', value: { ...members, unknown: 1 }, place: `${place}/unknown` };
  const inner = Object.entries(properties).flatMap(([name, schema]) =>
    wrongValues(schema, members[name], `${place}/${name}`).map(({ value, ...wrong }) => ({
      ...wrong,
      value: { ...members, [name]: value },
    })),
  );
  return [...missing, ...(rest.additionalProperties === false ? [unknown, ...similar] : []), ...inner];
}

const harness = await openHarness();
const partner = await seedCast(harness);

/** All records of the tenant: a refused request changes none. */
const things = (): Promise<object> => thingsOf(harness, partner.tenantId);

interface Case {
  readonly name: string;
  readonly operation: ContractOperation;
  readonly target: string;
  readonly json?: unknown;
  readonly mediaType?: string;
  readonly says?: RegExp;
  readonly fault: { readonly pointer?: string; readonly parameter?: string; readonly code: unknown };
}

function bodyCases(operation: ContractOperation): Case[] {
  const { operationId, requestBody } = operation;
  const [mediaType = '', content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (!content) return [];
  const example = Object.values(content.examples ?? {})[0]?.value ?? exampleBody(operation);
  return wrongValues(content.schema as Rules, example, '#').map(({ keyword, value, place, says }) => ({
    ...(says && { says }),
    name: `${operationId}: ${keyword} at ${place}`,
    operation,
    target: targetOf(operation),
    json: value,
    mediaType,
    // A property may have both a pattern and a format: if both fail, only the format is reported.
    fault: { pointer: place, code: keyword === 'pattern' ? expect.stringMatching(/^(pattern|format)$/) : keyword },
  }));
}

/** Wrong query parameters and ids in the path, without objects and arrays, which cannot be sent in a URL. */
function parameterCases(operation: ContractOperation): Case[] {
  const inUrl = operation.parameters.filter((parameter) => parameter.in !== 'header');
  return inUrl.flatMap(({ name, schema, example, in: part }) =>
    wrongValues({ ...schema, ...(schema.items ? { type: [] } : {}) }, example, name)
      .filter(({ value, keyword }) => typeof value !== 'object' && !(part === 'path' && keyword === 'minLength'))
      .map(({ keyword, value }) => ({
        name: `${operation.operationId}: ${keyword} of ${name}`,
        operation,
        target: targetOf(operation, { [name]: value }),
        ...(operation.requestBody ? { json: exampleBody(operation) } : {}),
        fault: { parameter: name, code: keyword },
      })),
  );
}

const unknownParameter = (operation: ContractOperation): Case => ({
  name: `${operation.operationId}: an unknown query parameter`,
  operation,
  target: targetOf(operation, { unknown: 1 }),
  ...(operation.requestBody ? { json: exampleBody(operation) } : {}),
  fault: { parameter: 'unknown', code: 'additionalProperties' },
});

// The token endpoint has OAuth's form of errors, and its own tests.
const cases = operations
  .filter(({ operationId }) => operationId !== 'issueToken')
  .flatMap((operation) => [...bodyCases(operation), ...parameterCases(operation), unknownParameter(operation)]);

it('every operation except issueToken answers 400 to a request that breaks one rule of its schema, names the place and the rule in words, and changes nothing', async () => {
  const before = await things();
  await everyCase(
    cases,
    ({ name }) => name,
    async ({ operation, target, json, mediaType = 'application/json', fault, says = /^[^:]+: \S/ }) => {
      const raw = json === undefined ? {} : { raw: JSON.stringify(json) };
      const headers = { ...requiredHeaders(operation), 'Content-Type': mediaType };
      const { status, body } = await call(harness, target, { token: partner.token, ...raw, headers });
      expect([status, body.errors]).toEqual([400, expect.arrayContaining([expect.objectContaining(fault)])]);
      expect(body.detail).not.toMatch(machinery);
      // A problem with a code of its own explains itself.
      if (body.code === 'validation_failed') expect(body.detail).toMatch(says);
    },
    4,
  );
  expect(await things()).toEqual(before);
});
