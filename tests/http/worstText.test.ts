import { exampleBody, operations, requiredHeaders, targetOf, type Schema } from '../support/contract.js';
import { newPartner, type Partner } from '../support/factories.js';
import { useHarness } from '../support/harness.js';
import { call, jsonType, type Answer, type CallOptions } from '../support/http.js';

const BODY_LIMIT = 256 * 1024;
/** Node takes a head of 16 KiB; this leaves room for the token. */
const HEAD_LIMIT = 14_000;
/** CPU time that one request may take. */
const MAX_MS = 100;

const harness = useHarness();
let partner: Partner;
beforeAll(async () => {
  partner = await newPartner(harness);
});

interface Attack extends CallOptions {
  readonly name: string;
  readonly target: string;
}

/** Repeated text that a backtracking pattern splits in every way, because the end does not match. */
const units = ['a', ' ', '0', 'a.', 'a@', '\u{1f600}'];
const longText = (unit: string, end: string, room: number, sizeOf: (text: string) => number): string =>
  unit.repeat(Math.floor((room - sizeOf(end)) / sizeOf(unit))) + end;
const plainSize = (text: string): number => Buffer.byteLength(text);
const jsonSize = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
const urlSize = (text: string): number => encodeURIComponent(text).length;

/** The schemas in a body, each with its keys from the root. */
function placesOf(schema: Schema, place: readonly string[] = []): [readonly string[], Schema][] {
  const members = Object.entries({ ...schema.properties, ...(schema.items ? { 0: schema.items } : {}) });
  return [[place, schema], ...members.flatMap(([key, child]) => placesOf(child, [...place, key]))];
}

/** The body as JSON with another value at a path; missing parents are added. */
function withValue(body: unknown, [key, ...rest]: readonly string[], json: string): string {
  if (key === undefined) return json;
  const inner = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const members = { ...inner, [key]: 'MARK' };
  const text = JSON.stringify(key === '0' ? ['MARK'] : members);
  return text.replace('"MARK"', () => withValue(inner[key], rest, json));
}

/** The keywords of a schema, without its texts. */
const keywordsOf = (schema: object): string =>
  JSON.stringify(schema, (key, value: unknown) =>
    /^(description|example)$/.test(key) && !isObject(value) ? undefined : value,
  );
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** One place for each schema: operations share schemas, and only these decide what a check costs. */
function oncePerSchema<T extends { readonly schema: Schema }>(places: readonly T[]): T[] {
  return [...new Map(places.map((place) => [keywordsOf(place.schema), place])).values()];
}

function bodyAttacks(): Attack[] {
  const places = operations.flatMap((operation) => {
    const schema = operation.requestBody?.content['application/json']?.schema;
    return schema ? placesOf(schema).map(([place, inner]) => ({ operation, place, schema: inner })) : [];
  });
  return oncePerSchema(places).flatMap(({ operation, place, schema: { type } }) => {
    const example = exampleBody(operation);
    const attack = (json: string): Attack => ({
      name: `${operation.operationId} ${place.join('.')} ${json.slice(0, 12)}`,
      target: targetOf(operation),
      raw: withValue(example, place, json),
      headers: { ...jsonType, ...requiredHeaders(operation) },
    });
    const room = BODY_LIMIT - Buffer.byteLength(withValue(example, place, '""'));
    const texts = units.map((unit) => JSON.stringify(longText(unit, '\0', room, jsonSize)));
    const lists = ['""', '{}', '0'].map((item) => `[${longText(`${item},`, item, room, plainSize)}]`);
    return (type === 'string' ? texts : type === 'array' ? lists : []).map(attack);
  });
}

function parameterAttacks(): Attack[] {
  const places = operations.flatMap((operation) =>
    operation.parameters.map(({ name, in: place, schema }) => ({
      operation,
      name,
      isHeader: place === 'header',
      schema,
    })),
  );
  const [headers, others] = [places.filter(({ isHeader }) => isHeader), places.filter(({ isHeader }) => !isHeader)];
  return [...oncePerSchema(headers), ...oncePerSchema(others)].flatMap(({ operation, name, isHeader }) =>
    units.map((unit): Attack => {
      const text = isHeader
        ? longText(unit.replace(/[^ -~]/gu, '~'), '\u00ff', HEAD_LIMIT, plainSize)
        : longText(unit, '\0', HEAD_LIMIT, urlSize);
      const given = { [name]: text };
      return {
        name: `${operation.operationId} ${name} ${unit}`,
        target: targetOf(operation, isHeader ? {} : given),
        headers: { ...requiredHeaders(operation), ...(isHeader ? given : {}) },
        ...(operation.requestBody ? { json: exampleBody(operation) } : {}),
      };
    }),
  );
}

/**
 * CPU time of one request, of client and server. It bounds the time for which the request blocks the event loop, and
 * does not depend on the load of the machine.
 */
async function costOf({ target, name: _, ...options }: Attack): Promise<{ answer: Answer; ms: number }> {
  const start = process.cpuUsage();
  const answer = await call(harness, target, { token: partner.token, ...options });
  const { user, system } = process.cpuUsage(start);
  return { answer, ms: (user + system) / 1000 };
}

/** Whether a value that is too long was also checked for its content. */
function looksInside({ body }: Answer): boolean {
  const codes: string[] = (body.errors ?? []).map(({ code }: { code: string }) => code);
  const isTooLong = codes.some((code) => code === 'maxLength' || code === 'maxItems');
  return isTooLong && codes.some((code) => ['pattern', 'format', 'type', 'uniqueItems'].includes(code));
}

it.each([
  ['body', bodyAttacks],
  ['parameter', parameterAttacks],
])(
  'the service answers 400 to the text that is slowest to validate, in any %s of each schema, within 100 ms of CPU time',
  async (_place, attacks) => {
    const faults: string[] = [];
    for (const attack of attacks()) {
      const { answer, ms: first } = await costOf(attack);
      let ms = first;
      // Garbage collection and compilation slow down some tries; a slow pattern slows down every try.
      for (let tries = 1; ms >= MAX_MS && ms < 10 * MAX_MS && tries < 10; tries += 1) {
        ms = Math.min(ms, (await costOf(attack)).ms);
      }
      if (answer.status !== 400 || looksInside(answer) || ms >= MAX_MS)
        faults.push(`${attack.name}: ${answer.status} ${ms} ms ${answer.text}`);
    }
    expect(faults).toEqual([]);
  },
  240_000,
);
