import { operations, requiredHeaders, targetOf, type ContractOperation, type Schema } from '../support/contract.js';
import { newPartner, patientBody, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { openConnection, rawCall, requestBytes } from '../support/rawHttp.js';

const LIMIT = 256 * 1024;
let harness: Harness;
let partner: Partner;
let logged = 0;

beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
});

afterEach(async () => {
  // Whatever came, the service lives, had no failure of its own and its objects are as they were.
  expect((await call(harness, 'GET /healthz')).status).toBe(200);
  const lines = harness.logged.slice(logged);
  logged = harness.logged.length;
  expect(lines.filter(({ msg }) => msg === 'request failed')).toEqual([]);
  expect(Object.prototype).not.toHaveProperty('polluted');
});

afterAll(() => harness.close());

const json = { 'Content-Type': 'application/json' };
const bodied = operations
  .filter(({ requestBody }) => requestBody !== undefined)
  .map((operation) => [operation.operationId, operation] as const);

const send = (operation: ContractOperation, { headers, ...options }: CallOptions): Promise<Answer> =>
  call(harness, targetOf(operation), {
    token: partner.token,
    headers: { ...requiredHeaders(operation), ...headers },
    ...options,
  });

const sendText = (operation: ContractOperation, raw: string | Uint8Array<ArrayBuffer>, headers = {}): Promise<Answer> =>
  send(operation, { raw, headers: { ...json, ...headers } });

/** The token endpoint has one code for all that is wrong with a request (RFC 6749 §5.2). */
function expectRefusal(operation: ContractOperation, { status, body, text }: Answer, code: string | RegExp): void {
  expect({ text: text.slice(0, 200), status }).toEqual({ text: text.slice(0, 200), status: 400 });
  if (operation.operationId === 'issueToken') expect(body.error).toBe('invalid_request');
  else expect(body.code).toMatch(code);
}

const propertiesOf = (operation: ContractOperation): [string, Schema][] =>
  Object.entries(operation.requestBody?.content['application/json']?.schema.properties ?? {});

/** The contract's first example of the request. */
function exampleOf(operation: ContractOperation): Record<string, unknown> {
  const [example] = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
  return { ...(example?.value as object) };
}

/** The same JSON in so many bytes. */
const padded = (value: unknown, size: number): string => JSON.stringify(value).padEnd(size, ' ');

describe('a body of more than 256 KiB', () => {
  it.each(bodied)('is too large for %s', async (_operationId, operation) => {
    for (const size of [LIMIT + 1, 8 * LIMIT]) {
      const { status, body } = await sendText(operation, padded(exampleOf(operation), size));
      expect({ status, code: body.code }).toEqual({ status: 413, code: 'body_too_large' });
    }
  });

  it.each(bodied)('is too large for %s also when it does not say how large it is', async (_operationId, operation) => {
    const [method = '', target = ''] = targetOf(operation).split(' ');
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    const headers = [
      ['Transfer-Encoding', 'chunked'],
      ['Content-Type', 'application/json'],
      ['Authorization', `Bearer ${partner.token}`],
      ...Object.entries(requiredHeaders(operation)),
    ] as const;
    const { status, text } = await rawCall(harness, { method, target, headers, body: `${chunk.repeat(5)}0\r\n\r\n` });
    expect({ status, code: JSON.parse(text).code }).toEqual({ status: 413, code: 'body_too_large' });
  });

  it('is read when it has just 256 KiB', async () => {
    const { status, body } = await call(harness, 'POST /clients', {
      token: partner.token,
      raw: padded(patientBody({ employer: 'of 256 KiB' }), LIMIT),
      headers: json,
    });
    expect(status).toBe(201);
    const read = await call(harness, `GET /clients/${body.user_id}`, { token: partner.token });
    expect(read.body.employer).toBe('of 256 KiB');
  });

  it.each(bodied)('is not read by %s when the head of the request is at fault', async (_operationId, operation) => {
    const large = { raw: padded({}, LIMIT + 1), headers: { ...json, ...requiredHeaders(operation) } };
    const [method = '', path = ''] = targetOf(operation).split(' ');
    const places = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
    const targets = [`${method} ${path}?unknown=1`, ...places.map((name) => targetOf(operation, { [name]: '0x1' }))];
    for (const target of targets) {
      const answer = await call(harness, target, { token: partner.token, ...large });
      expectRefusal(operation, answer, 'validation_failed');
      expect(answer.headers.get('Connection')).toBe('close');
    }
    const required = operation.parameters.filter((parameter) => parameter.in === 'header' && parameter.required);
    if (required.length === 0) return;
    const keyless = { token: partner.token, ...large, headers: json };
    const { status, body } = await call(harness, `${method} ${path}`, keyless);
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'idempotency_key_required' });
  });

  it('is not read at all for a caller who may not send it', async () => {
    const large = { raw: padded({}, LIMIT + 1), headers: json };
    const { status, headers, body } = await call(harness, 'POST /clients', large);
    expect({ status, code: body.code, connection: headers.get('Connection') }).toEqual({
      status: 401,
      code: 'token_missing',
      connection: 'close',
    });
  });
});

describe('a Content-Length that lies', () => {
  const start = (length: number) =>
    requestBytes({
      method: 'POST',
      target: '/encounters/status',
      body: '{"encounter_id":999999999}',
      headers: [
        ['Content-Length', String(length)],
        ['Content-Type', 'application/json'],
        ['Authorization', `Bearer ${partner.token}`],
      ],
    });

  it('by too little makes the rest another, malformed request', async () => {
    const connection = await openConnection(harness);
    connection.socket.write(start(26 - 9));
    const answers = (await connection.closed()).map(({ status, text }) => [status, JSON.parse(text).code]);
    expect(answers).toEqual([
      [400, 'malformed_json'],
      [400, 'validation_failed'],
    ]);
  });

  it('by too much is a request that ends early', async () => {
    const connection = await openConnection(harness);
    connection.socket.end(start(27));
    const answers = (await connection.closed()).map(({ status, text }) => [status, JSON.parse(text).code]);
    expect(answers).toEqual([[400, 'validation_failed']]);
  });
});

describe('the content type', () => {
  it.each(bodied)('of %s is checked', async (_operationId, operation) => {
    const raw = JSON.stringify(exampleOf(operation));
    for (const type of [
      'text/plain',
      'application/xml',
      'application/vnd.api+json',
      'application/jsonp',
      '*/*',
      ';;;',
      'multipart/form-data',
      'application/problem+json',
      'garbage',
      'application/json, text/plain',
    ]) {
      expectRefusal(operation, await sendText(operation, raw, { 'Content-Type': type }), 'content_type_not_json');
    }
    // A body of bytes, because an HTTP client gives text a type.
    expectRefusal(operation, await send(operation, { raw: Buffer.from(raw) }), 'content_type_not_json');
    if (operation.operationId === 'issueToken') return;
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expectRefusal(operation, await sendText(operation, 'a=1', form), 'content_type_not_json');
  });

  // RFC 8259 §8.1: the text is UTF-8 whatever the charset says.
  it.each(bodied)('of %s may have any spelling and charset', async (_operationId, operation) => {
    for (const type of [
      'application/json;charset=utf-8',
      'application/json; charset="UTF-8"',
      'Application/JSON',
      'application/json; charset=latin1',
    ]) {
      expectRefusal(operation, await sendText(operation, '{', { 'Content-Type': type }), 'malformed_json');
    }
  });

  it.each(bodied)('of %s does not admit compression', async (_operationId, operation) => {
    for (const encoding of ['gzip', 'deflate', 'br', 'gzip, gzip', 'other']) {
      const answer = await sendText(operation, '{}', { 'Content-Encoding': encoding });
      expectRefusal(operation, answer, 'content_type_not_json');
    }
  });
});

describe('text that is not JSON in UTF-8', () => {
  const bytes = (...parts: (string | number[])[]) =>
    new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part as string))));
  const deep = 100_000;
  const texts: (string | Uint8Array<ArrayBuffer>)[] = [
    '  ',
    '{"a":',
    '{"a":1,}',
    "{'a':1}",
    '{}{}',
    '{"a":NaN}',
    '{/* */}',
    '{"a":"\u0000"}',
    '{"a":"\n"}',
    // Invalid, overlong and cut off UTF-8, a surrogate as bytes, and UTF-16.
    bytes('{"a":"', [0xff], '"}'),
    bytes('{"a":"', [0xc0, 0xaf], '"}'),
    bytes('{"a":"', [0xe2, 0x82], '"}'),
    bytes('{"a":"', [0xed, 0xa0, 0x80], '"}'),
    new Uint8Array(Buffer.from('{"a":1}', 'utf16le')),
    // Half of a surrogate pair, in a text, in a name and deep inside.
    '{"a":"\\ud800"}',
    '{"a":"x\\uDC00y"}',
    '{"a":"\\udc00\\ud800"}',
    '{"\\ud800":1}',
    '{"a":[{"b":["\\uD83D"]}]}',
    `{"\\ud800":${'['.repeat(deep)}${']'.repeat(deep)}}`,
    '['.repeat(deep),
  ];

  it.each(bodied)('is told to be malformed by %s', async (_operationId, operation) => {
    for (const text of texts) expectRefusal(operation, await sendText(operation, text), 'malformed_json');
  });

  it('is not what a byte order mark makes of JSON', async () => {
    const raw = `\ufeff${JSON.stringify(patientBody())}`;
    expect((await call(harness, 'POST /clients', { token: partner.token, raw, headers: json })).status).toBe(201);
  });

  it('is not what whole surrogate pairs make of JSON', async () => {
    const raw = JSON.stringify(patientBody({ firstName: 'X' })).replace('"X"', '"\\ud83d\\ude00 \\\\ud800"');
    const { status, body } = await call(harness, 'POST /clients', { token: partner.token, raw, headers: json });
    expect([status, body.firstName]).toEqual([201, '\u{1f600} \\ud800']);
  });
});

describe('JSON that is not what the contract says', () => {
  const deep = 100_000;
  const nested = (open: string, close: string, depth: number): string => `${open.repeat(depth)}1${close.repeat(depth)}`;

  it.each(bodied)('is refused by %s when it is no object', async (_operationId, operation) => {
    const example = JSON.stringify(exampleOf(operation));
    for (const raw of [
      '',
      'null',
      'true',
      '0',
      '1e400',
      '""',
      '"text"',
      JSON.stringify(example),
      '[]',
      `[${example}]`,
      nested('[', ']', deep),
    ]) {
      expectRefusal(operation, await sendText(operation, raw), 'validation_failed');
    }
  });

  it.each(bodied)('is refused by %s for every property of another type', async (_operationId, operation) => {
    const others: [string, string][] = [
      ['null', 'null'],
      ['boolean', 'true'],
      ['string', '"x"'],
      ['integer', '9007199254740992'],
      ['number', '1e400'],
      ['number', '-0.5'],
      ['array', '[["x"]]'],
      ['object', '{"x":1}'],
      ['array', nested('[', ']', 50_000)],
      ['object', nested('{"a":', '}', 40_000)],
    ];
    for (const [name, { type }] of propertiesOf(operation)) {
      for (const [otherType, value] of others.filter(([other]) => other !== type)) {
        const raw = JSON.stringify({ ...exampleOf(operation), [name]: 'MARK' }).replace('"MARK"', value);
        const answer = await sendText(operation, raw);
        expectRefusal(operation, answer, /^(validation_failed|document_url_invalid)$/);
        expect({ otherType, text: answer.text }).toEqual({ otherType, text: expect.stringContaining(name) });
      }
    }
  });

  it.each(bodied)('is refused by %s for a NUL character in any text', async (_operationId, operation) => {
    for (const [name, { type }] of propertiesOf(operation)) {
      if (type !== 'string') continue;
      const answer = await send(operation, { json: { ...exampleOf(operation), [name]: 'a\u0000b' } });
      expect({ name, status: answer.status }).toEqual({ name, status: 400 });
      if (operation.operationId !== 'issueToken') {
        expect(answer.body.errors).toContainEqual(expect.objectContaining({ pointer: `#/${name}` }));
      }
    }
  });

  it.each(bodied)('is neither a prototype nor a constructor to %s', async (_operationId, operation) => {
    const example = JSON.stringify(exampleOf(operation)).slice(1);
    for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf']) {
      const answer = await sendText(operation, `{"${name}":{"polluted":1,"prototype":{"polluted":1}},${example}`);
      // The token endpoint ignores what it does not know (RFC 6749 §3.2): its example is of no client of ours.
      if (operation.operationId === 'issueToken') expect(answer.body.error).toBe('invalid_client');
      else expectRefusal(operation, answer, 'validation_failed');
    }
    expectRefusal(operation, await sendText(operation, `{"__proto__":{${example}}`), 'validation_failed');
  });

  it.each(bodied.filter(([operationId]) => operationId !== 'issueToken'))(
    'is refused by %s with a bounded list of faults',
    async (_operationId, operation) => {
      const unknown = Object.fromEntries(Array.from({ length: 25_000 }, (_, index) => [index.toString(36), 1]));
      const answer = await send(operation, { json: unknown });
      expectRefusal(operation, answer, 'validation_failed');
      expect(answer.body.errors).toHaveLength(50);
      expect(answer.body.detail).toMatch(/Only the first 50 faults are listed\.$/);
    },
  );

  it('is never repeated, not even where a name should be', async () => {
    const json = { 'Jane Miller, HIV positive': 1, '512-555-0142': 1, [`x${'a'.repeat(200)}`]: 1 };
    for (const [, operation] of bodied) {
      expect((await send(operation, { json })).text).not.toMatch(/Miller|HIV|0142|aaaa/);
    }
  });

  it.each([
    ['0', 400],
    ['-1', 400],
    ['1.5', 400],
    ['1e400', 400],
    ['-1e400', 400],
    ['9007199254740992', 400],
    ['9223372036854775808', 400],
    ['1E+400', 400],
    ['"100001"', 400],
    ['2147483648', 404],
    ['9007199254740991', 404],
    ['1e2', 404],
  ])('as an encounter_id of %s is answered with %i', async (number, status) => {
    const answer = await call(harness, 'POST /encounters/status', {
      token: partner.token,
      raw: `{"encounter_id":${number}}`,
      headers: json,
    });
    expect({ status: answer.status, code: answer.body.code }).toEqual({
      status,
      code: status === 400 ? 'validation_failed' : 'encounter_not_found',
    });
  });
});
