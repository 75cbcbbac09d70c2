import { isDeepStrictEqual } from 'node:util';
import { resetCast, seedRestorableCast } from '../support/cast.js';
import { exampleBody, operationOf, operations, requiredHeaders, targetOf } from '../support/contract.js';
import type { ContractOperation, Schema } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { loginBody } from '../support/tokens.js';

// Serializers of Java and .NET write null for each field without a value.

/** Operations with a JSON body, except merge patches, where null clears a field. */
const withBody = operations.flatMap((operation) => {
  const { content = {} } = operation.requestBody ?? {};
  const json = content['application/json'];
  if (!json || 'application/merge-patch+json' in content) return [];
  return [{ operation, schema: json.schema, examples: json.examples ?? {} }];
});

/** Optional members of a body that do not admit null, nested ones included. */
function strictMembers({ properties = {}, required = [], items }: Schema, path: string): string[] {
  if (items) return strictMembers(items, `${path}/0`);
  return Object.entries(properties).flatMap(([name, schema]) => {
    const place = `${path}/${name}`;
    const isStrict = !required.includes(name) && ![schema.type].flat().includes('null');
    return [...(isStrict ? [place] : []), ...strictMembers(schema, place)];
  });
}

/** The value with a null for every optional member that it leaves out. */
function withNulls(value: unknown, { properties, items }: Schema): unknown {
  if (Array.isArray(value) && items) return value.map((element) => withNulls(element, items));
  if (typeof value !== 'object' || value === null || !properties) return value;
  const members = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, withNulls(members[name] ?? null, schema)]),
  );
}

/** An answer with new ids, numbers, times, links and tokens replaced, so that two can be compared. */
function shared({ status, body }: Answer): { readonly status: number; readonly body: unknown } {
  const text = JSON.stringify(body ?? null)
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id')
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+Z)?/g, 'time')
    .replace(/"(https?:|eyJ)[^"]*"/g, '"link"')
    .replace(/\b10\d{4}\b/g, 'number');
  return { status, body: JSON.parse(text.replaceAll(/:number/g, ':"number"')) };
}

const harness = await openHarness();
const partner = await seedRestorableCast(harness);

const send = (operation: ContractOperation, json: object): Promise<Answer> =>
  call(harness, targetOf(operation), { token: partner.token, headers: requiredHeaders(operation), json });

it('every optional field of a JSON request body, except merge patches, allows null in the contract', () => {
  expect(withBody.flatMap(({ operation, schema }) => strictMembers(schema, operation.operationId))).toEqual([]);
});

it('a null for every absent optional field, except in merge patches, does not change the response', async () => {
  const bodies = withBody.map(({ operation, schema }) => ({
    operation,
    schema,
    json: operation.operationId === 'issueToken' ? loginBody(partner) : exampleBody(operation),
  }));
  const incomplete = bodies.filter(({ json, schema }) => !isDeepStrictEqual(json, withNulls(json, schema)));
  const titleOf = ({ operation }: (typeof bodies)[number]): string => operation.operationId;
  await everyCase(incomplete, titleOf, async ({ operation, schema, json }) => {
    await resetCast(harness, partner);
    const without = shared(await send(operation, json));
    expect([200, 201, 204]).toContain(without.status);
    await resetCast(harness, partner);
    expect(shared(await send(operation, withNulls(json, schema) as object))).toEqual(without);
  });
});

it('a null in a required field gets 400, and null identifiers get identifier_required', async () => {
  await everyCase(
    withBody,
    ({ operation }) => operation.operationId,
    async ({ operation, schema, examples }) => {
      const [example] = Object.values(examples);
      for (const name of schema.required ?? []) {
        const { status } = await send(operation, { ...(example?.value as object), [name]: null });
        expect([name, status]).toEqual([name, 400]);
      }
    },
  );
  const { body } = await send(operationOf('getEncounterStatus'), { encounter_id: null, gfe_no: null, order_no: null });
  expect(body).toMatchObject({ status: 400, code: 'identifier_required' });
});
