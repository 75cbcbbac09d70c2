import { exampleBody, operationOf, type ContractOperation, type Schema } from '../support/contract.js';
import { patientBody } from '../support/factories.js';
import { bodiesUnderAttack, expectRefusal, sampleFor } from '../support/hostileBodies.js';
import type { Answer } from '../support/http.js';

// Content of bodies; hostileBodies.test.ts covers their size and headers.

const service = await bodiesUnderAttack();
const createPatient = (raw: string): Promise<Answer> => service.sendText(operationOf('createPatient'), raw);

const propertiesOf = (operation: ContractOperation): [string, Schema][] =>
  Object.entries(operation.requestBody?.content['application/json']?.schema.properties ?? {});

/** The request example with the named properties set to this JSON. */
function exampleWith(operation: ContractOperation, names: readonly string[], value: string): string {
  const marked = Object.fromEntries(names.map((name) => [name, 'MARK']));
  return JSON.stringify({ ...exampleBody(operation), ...marked }).replaceAll('"MARK"', () => value);
}

describe('the text of a body', () => {
  const bytes = (...parts: (string | number[])[]) =>
    new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part as string))));
  const deep = 100_000;
  const texts: (string | Uint8Array<ArrayBuffer>)[] = [
    ...[
      '  ',
      '{"a":',
      '{"a":1,}',
      '{"a":-1e400}',
      "{'a':1}",
      '{}{}',
      '{"a":NaN}',
      '{/* */}',
      '{"a":"\u0000"}',
      '{"a":"\n"}',
    ],
    // Invalid, overlong and cut off UTF-8, a surrogate as bytes, and UTF-16.
    bytes('{"a":"', [0xff], '"}'),
    bytes('{"a":"', [0xc0, 0xaf], '"}'),
    bytes('{"a":"', [0xe2, 0x82], '"}'),
    bytes('{"a":"', [0xed, 0xa0, 0x80], '"}'),
    new Uint8Array(Buffer.from('{"a":1}', 'utf16le')),
    // Half a surrogate pair in a string, in a name and nested.
    ...['{"a":"\\ud800"}', '{"a":"x\\uDC00y"}', '{"a":"\\udc00\\ud800"}', '{"\\ud800":1}', '{"a":[{"b":["\\uD83D"]}]}'],
    ...['{"a":"\\uD83D\\uD83D\\uDE00"}', '{"a":"\\ud83d\\ude00\\ud83d"}'],
    `{"\\ud800":${'['.repeat(deep)}${']'.repeat(deep)}}`,
    '['.repeat(deep),
  ];

  it('gets 400 for invalid JSON, invalid UTF-8 and lone surrogates, at every operation', () =>
    service.everyOperation(async (operation) => {
      for (const text of sampleFor(operation, texts))
        expectRefusal(operation, await service.sendText(operation, text), 'malformed_json');
    }));

  it('may begin with a byte order mark', async () => {
    expect(await createPatient(`\ufeff${JSON.stringify(patientBody())}`)).toMatchObject({ status: 201 });
  });

  it('may write surrogate pairs as escapes', async () => {
    const raw = JSON.stringify(patientBody({ firstName: 'X' })).replace('"X"', '"\\ud83d\\ude00 \\\\ud800"');
    const { status, body } = await createPatient(raw);
    expect([status, body.firstName]).toEqual([201, '\u{1f600} \\ud800']);
  });
});

const nested = (open: string, close: string, depth: number): string => `${open.repeat(depth)}1${close.repeat(depth)}`;

describe('the depth of JSON', () => {
  const deep = [
    nested('[', ']', 33),
    nested('{"a":', '}', 33),
    nested('[{"\\"[":', '}]', 17),
    nested('[', ']', 100_000),
    nested('{"a":', '}', 40_000),
  ];

  it('gets 400 above 32 levels, in the whole body or in one value, at every operation', () =>
    service.everyOperation(async (operation) => {
      for (const value of sampleFor(operation, deep)) {
        expectRefusal(operation, await service.sendText(operation, value), 'malformed_json');
        const [[name] = ['a']] = propertiesOf(operation);
        const answer = await service.sendText(operation, exampleWith(operation, [name], value));
        expectRefusal(operation, answer, 'malformed_json');
        expect(answer.text).toContain('nested deeper than 32 levels');
      }
    }));

  it('may be 32 levels, not counting brackets in strings', async () => {
    const texts = patientBody({ firstName: '[{"['.repeat(8), metadata: { a: '['.repeat(1_000) } });
    expect(await createPatient(JSON.stringify(texts))).toMatchObject({ status: 201 });
    const { status, body } = await createPatient(`{"metadata":${nested('{"a":', '}', 31)}}`);
    expect([status, body.code]).toEqual([400, 'validation_failed']);
  });
});

describe('JSON that breaks the contract', () => {
  it('gets 400 when it is not an object or the body is empty, at every operation', () =>
    service.everyOperation(async (operation) => {
      const example = JSON.stringify(exampleBody(operation));
      const values = ['', 'null', 'true', '0', '""', '"text"', '[]', JSON.stringify(example), `[${example}]`];
      for (const raw of sampleFor(operation, values)) {
        expectRefusal(operation, await service.sendText(operation, raw), 'validation_failed');
      }
    }));

  it('cannot pollute a prototype by names such as __proto__, at every operation', () =>
    service.everyOperation(async (operation) => {
      const example = JSON.stringify(exampleBody(operation)).slice(1);
      const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'];
      for (const name of sampleFor(operation, names)) {
        const polluting = `{"${name}":{"polluted":1,"prototype":{"polluted":1}},${example}`;
        const answer = await service.sendText(operation, polluting);
        // The token endpoint ignores unknown parameters (RFC 6749 §3.2), and its example names no existing client.
        if (operation.operationId === 'issueToken') expect(answer.body.error).toBe('invalid_client');
        else expectRefusal(operation, answer, 'validation_failed');
      }
      expectRefusal(operation, await service.sendText(operation, `{"__proto__":{${example}}`), 'validation_failed');
      expect(Reflect.get({}, 'polluted')).toBeUndefined();
    }));

  it('gets a list of only the first 50 errors, at every operation except issueToken', () =>
    service.everyOperation(async (operation) => {
      if (operation.operationId === 'issueToken') return;
      const size = operation.operationId === 'createPatient' ? 25_000 : 1_000;
      const unknown = Object.fromEntries(Array.from({ length: size }, (_, index) => [index.toString(36), 1]));
      const answer = await service.send(operation, { json: unknown });
      expectRefusal(operation, answer, 'validation_failed');
      expect(answer.body.errors).toHaveLength(50);
      expect(answer.body.detail).toMatch(/Only the first 50 errors are listed\.$/);
    }));

  it('gets an error without its unknown property names that are not short identifiers, at every operation', () =>
    service.everyOperation(async (operation) => {
      const json = { 'Jane Miller, HIV positive': 1, '512-555-0142': 1, [`x${'a'.repeat(200)}`]: 1 };
      expect((await service.send(operation, { json })).text).not.toMatch(/Miller|HIV|555-0142|xaaa/);
    }));

  it('gets 400 for an encounter_id that is not a positive safe integer, and 404 for an unknown one', () => {
    const infinite = ['1e400', '-1e400', '1E+400', '9'.repeat(400), `${'9'.repeat(250)}e99`, `${'9'.repeat(301)}.5e8`];
    const none = ['0', '-1', '1.5', '9007199254740992', '9223372036854775808', '"100001"'];
    const fine = ['2147483648', '9007199254740991', '1e2'];
    return service.everyCase([...infinite, ...none, ...fine], String, async (number) => {
      const raw = `{"encounter_id":${number}}`;
      const { status, body } = await service.sendText(operationOf('getEncounterStatus'), raw);
      const refused = [400, infinite.includes(number) ? 'malformed_json' : 'validation_failed'];
      expect([status, body.code]).toEqual(fine.includes(number) ? [404, 'encounter_not_found'] : refused);
    });
  });
});
