import fc from 'fast-check';
import { presetPermissions, presets, type Preset } from '../../src/domain/access/permissions.js';
import { operations, targetOf, type ContractOperation, type Schema } from '../support/contract.js';
import { newClient } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { newSandbox } from '../support/sandbox.js';

// Requests made from the contract's schemas and examples, half of them broken. The harness compares every response, with
// its headers, with the contract.

const REQUESTS = Number(process.env['REQUESTS'] ?? 3_000);

const harness = await openHarness();
const { tenantId } = await newSandbox(harness);

const names = Object.keys(presets) as Preset[];
const callers = await Promise.all(
  names.map(async (name) => {
    const granted = presetPermissions(name, 'sandbox');
    const permitted = operations.filter(
      ({ scopes }) => scopes.length === 0 || granted.some((permission) => scopes.includes(permission)),
    );
    return { name, permitted, token: (await newClient(harness, tenantId, granted)).token };
  }),
);

/** Any text without lone surrogates, which `fetch` would replace. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom(
    ...['', ' ', '%', '_%\\', "' OR 1=1 --", '\u0000', '\r\n', '\u202e', '\ufeff', '../../etc/passwd', '{"a":1}'],
    ...['2027-02-30', '2027-03-14', '24:00:00', 'Z', '+05:30', 'GMT+5', 'America/New_York', 'GFE-999999999999999999'],
    ...['a@b.c', 'É@example.com', 'https://user:x@host', 'http://[::1]:1/', 'data:,', '[object Object]'],
    ...['-1', '1e400', '9007199254740993', 'true', 'null'],
  ),
  fc.string({ minLength: 250, maxLength: 300 }),
  fc.uuid(),
);
const anything = fc.oneof(text, fc.jsonValue(), fc.integer(), fc.double(), fc.array(text, { maxLength: 25 }));

interface Limits extends Schema {
  readonly minimum?: number;
  readonly maxLength?: number;
}

/** Values of a schema. Ids, URLs and complex values are those of the example, so that requests reach records. */
function valuesOf(schema: Limits, example: unknown): fc.Arbitrary<unknown> {
  const { format = '', pattern, maximum = 2 ** 31, minimum = 0, maxLength = 100 } = schema;
  const [type] = [schema.type].flat();
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer') return fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31) });
  const isText = type === 'string' && ['', 'date', 'date-time'].includes(format);
  if (!isText || /\(\?|https|:\/\//.test(pattern ?? '')) return fc.constant(example);
  const day = fc.date({ min: new Date('1950-01-01'), max: new Date('2050-01-01'), noInvalidDate: true });
  if (format !== '') return day.map((date) => date.toISOString().slice(0, format === 'date' ? 10 : undefined));
  if (pattern === undefined) return fc.string({ maxLength });
  return fc.stringMatching(new RegExp(pattern, 'u')).filter((matching) => matching.length <= maxLength);
}

type Values = Readonly<Record<string, unknown>>;

/** Some members of an object, with values of their schemas or, if the object is to be broken, with any value or none. */
function changesOf(
  properties: Readonly<Record<string, Schema>>,
  example: Values,
  isBroken: boolean,
): fc.Arbitrary<Values> {
  const known = Object.entries(properties);
  if (isBroken) {
    const name = fc.oneof({ weight: 5, arbitrary: fc.constantFrom('unknown', ...Object.keys(properties)) }, text);
    return fc.dictionary(name, fc.option(anything, { nil: undefined }), { minKeys: 1, maxKeys: 3 });
  }
  const made = known.map(([name, schema]) => [name, valuesOf(schema, example[name])] as const);
  return fc
    .tuple(
      fc.record(Object.fromEntries(made)),
      fc.subarray(Object.keys(properties), { maxLength: Math.min(2, known.length) }),
    )
    .map(([values, chosen]) => Object.fromEntries(chosen.map((name) => [name, values[name]])));
}

function bodyOf({ requestBody }: ContractOperation, isBroken: boolean): fc.Arbitrary<string | undefined> {
  const [content] = Object.values(requestBody?.content ?? {});
  if (!content) return fc.constant(undefined);
  const examples = Object.values(content.examples ?? {}).map(({ value }) => Object(value) as Values);
  const changed = fc.oneof(
    ...examples.map((example) =>
      changesOf(content.schema.properties ?? {}, example, isBroken).map((changes) => ({ ...example, ...changes })),
    ),
  );
  const json = changed.map((body) => JSON.stringify(body));
  return isBroken
    ? fc.oneof(
        { weight: 5, arbitrary: json },
        anything.map((value) => JSON.stringify(value)),
        text,
      )
    : json;
}

/** Changes of the example's path and query; headers stay. */
function parametersOf({ parameters }: ContractOperation, isBroken: boolean): fc.Arbitrary<Values> {
  const inUrl = parameters.filter((parameter) => parameter.in !== 'header');
  const examples = Object.fromEntries(inUrl.map(({ name, example }) => [name, example]));
  const properties = Object.fromEntries(inUrl.map(({ name, schema }) => [name, schema]));
  const optional = inUrl.filter(({ required }) => !required).map(({ name }) => [name, undefined]);
  return changesOf(properties, examples, isBroken).map((changes) => ({ ...Object.fromEntries(optional), ...changes }));
}

/** The requests of an operation: as declared, with broken parameters, with a broken body. */
const requestsOf = new Map(
  operations.map((operation) => {
    const form = (breaksParameters: boolean, breaksBody: boolean) =>
      fc.record({
        operation: fc.constant(operation),
        isBroken: fc.constant(breaksParameters || breaksBody),
        body: bodyOf(operation, breaksBody),
        parameters: parametersOf(operation, breaksParameters),
        key: fc.uuid(),
      });
    const broken = operation.requestBody ? fc.oneof(form(true, false), form(false, true)) : form(true, false);
    return [operation, fc.oneof(form(false, false), broken)];
  }),
);

const request = fc
  .constantFrom(...callers)
  .chain(({ permitted, ...caller }) =>
    fc
      .oneof({ weight: 9, arbitrary: fc.constantFrom(...permitted) }, fc.constantFrom(...operations))
      .chain((operation) =>
        fc.record({ caller: fc.constant(caller), made: requestsOf.get(operation) ?? fc.constant(undefined) }),
      ),
  );

it(`the service answers ${REQUESTS} valid and broken requests of all presets as the contract declares, and below 500`, async () => {
  const successes = new Set<string>();
  const counts = { broken: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(request, async ({ caller, made }) => {
      if (!made) throw new Error('requestsOf lacks an operation: add requests for it');
      const { operation, isBroken, body, parameters, key } = made;
      const keyed = operation.parameters.some(({ name }) => name === 'Idempotency-Key');
      const headers = { 'Content-Type': 'application/json', ...(keyed && { 'Idempotency-Key': key }) };
      const raw = body === undefined ? {} : { raw: body };
      const { status } = await call(harness, targetOf(operation, parameters), { token: caller.token, headers, ...raw });
      expect(status).toBeLessThan(500);
      if (isBroken) counts.broken += 1;
      if (status === 400) counts.refused += 1;
      if (status < 300) successes.add(`${caller.name} ${operation.operationId}`);
    }),
    { numRuns: REQUESTS, seed: 20_261_128, endOnFailure: true },
  );
  expect(harness.logged.filter(({ msg }) => msg === 'request failed')).toEqual([]);
  // The run proves something only if it had both successes, for every preset, and refusals.
  for (const name of names)
    expect([...successes].filter((one) => one.startsWith(`${name} `)).length).toBeGreaterThan(5);
  expect([counts.broken > REQUESTS / 3, counts.refused > REQUESTS / 5, successes.size > 80]).toEqual([
    true,
    true,
    true,
  ]);
});
