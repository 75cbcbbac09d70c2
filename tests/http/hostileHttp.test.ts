import { randomUUID } from 'node:crypto';
import {
  contractFaults,
  operations,
  securedOperations,
  targetOf,
  type ContractOperation,
} from '../support/contract.js';
import { newPartner, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { openConnection, rawCall, type RawAnswer } from '../support/rawHttp.js';

let harness: Harness;
let partner: Partner;
let logged = 0;

beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
});

afterEach(async () => {
  // Whatever came, the service lives and had no failure of its own.
  expect((await call(harness, 'GET /healthz')).status).toBe(200);
  const lines = harness.logged.slice(logged);
  logged = harness.logged.length;
  expect(lines.filter(({ msg }) => msg === 'request failed')).toEqual([]);
});

afterAll(() => harness.close());

/** A table whose rows say themselves, shortened. */
const titled = (values: readonly string[]): [string, string][] =>
  values.map((value) => [JSON.stringify(value).slice(0, 60), value]);
const bearer = () => ['Authorization', `Bearer ${partner.token}`] as const;

function expectRawProblem({ status, headers, text }: RawAnswer, expected: number, code: string): void {
  expect(status).toBe(expected);
  expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
  expect(JSON.parse(text)).toMatchObject({
    type: `urn:clinical-encounter:problem:${code}`,
    code,
    status: expected,
    request_id: headers['x-request-id'],
  });
}

const pathOf = (operation: ContractOperation): string => targetOf(operation).split(' ')[1] ?? '';
const paths = [...new Set(operations.map((operation) => pathOf(operation).split('?')[0] ?? ''))];

/** The methods of the template that the path fits, concrete ones first: /encounters/status is no encounter's. */
function methodsOf(path: string): string[] {
  const fits = ({ path: template }: ContractOperation) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  const concrete = operations.filter((operation) => operation.path === path);
  return (concrete.length > 0 ? concrete : operations.filter(fits)).map(({ method }) => method).sort();
}

describe('a method that a path does not have', () => {
  const methods = ['HEAD', 'OPTIONS', 'TRACE', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'];
  const others = (path: string) => methods.filter((method) => !methodsOf(path).includes(method));

  it.each(paths)('is refused with the methods that %s has', async (path) => {
    for (const method of others(path)) {
      const answer = await rawCall(harness, { method, target: path });
      expect({ method, status: answer.status }).toEqual({ method, status: 405 });
      expect(answer.headers['allow']?.split(', ').sort()).toEqual(methodsOf(path));
      if (method === 'HEAD') expect(answer.text).toBe('');
      else expectRawProblem(answer, 405, 'method_not_allowed');
    }
  });
});

it('no condition in a request makes an operation return a status that the contract does not declare', async () => {
  for (const operation of operations.filter(({ method }) => method === 'GET')) {
    const conditions = [
      ['If-None-Match', '*'],
      ['If-Match', '"other"'],
      ['Range', 'bytes=99999999-'],
    ] as const;
    for (const condition of conditions) {
      const { status } = await rawCall(harness, { target: pathOf(operation), headers: [bearer(), condition] });
      expect(operation.statuses).toContain(status);
    }
  }
});

describe('a target that is no path of the contract', () => {
  const unknown = [
    '/index.html',
    '/nowhere',
    '/clinics/',
    '/clinics//',
    '//clinics',
    '/CLINICS',
    '/clients/../clinics',
    '/clinics;x=1',
    '/clinics%2F',
    '/clinics%00',
    '/%zz',
    '/%',
    '/%00',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/clinics%E0%A4%A',
    '*',
    '/__proto__',
    '/constructor',
    '/files',
    '/files/a/b',
    '/encounters/1/2',
    `/${'a'.repeat(15_000)}`,
    'http://other.example/nowhere',
  ];

  it.each(titled(unknown))('is not found: %s', async (_title, target) => {
    for (const method of ['GET', 'POST']) {
      expectRawProblem(await rawCall(harness, { method, target, headers: [bearer()] }), 404, 'route_not_found');
    }
  });

  it.each(['http://other.example/clinics', 'https://user:secret@other.example:1/clinics'])(
    'is taken by its path when it is in absolute form: %s',
    async (target) => {
      const { status, text } = await rawCall(harness, { target, headers: [bearer()] });
      expect(status).toBe(200);
      expect(text).not.toContain('other.example');
    },
  );

  const malformed = [
    `/clinics?search=${'a'.repeat(20_000)}`,
    '/caf\u00e9',
    '/clinics?search=caf\u00e9',
    '/a\u0000b',
    '/a b',
    'clinics',
  ];

  it.each(titled(malformed))('is refused when it is too long or malformed: %s', async (_title, target) => {
    expectRawProblem(await rawCall(harness, { target }), 400, 'validation_failed');
  });

  const links = ['/files/%zz', '/files/%00', '/files/x', `/files/${'a'.repeat(10_000)}`];

  it.each(titled(links))('is no link to a file: %s', async (_title, target) => {
    expect((await rawCall(harness, { target })).status).toBe(403);
  });

  it.each([
    ['Range', 'bytes=99999999-', 416],
    ['If-Match', '"other"', 412],
  ])('of a page that does not meet %s: %s is answered so', async (name, value, status) => {
    expect((await rawCall(harness, { target: '/docs', headers: [[name, value]] })).status).toBe(status);
  });
});

/** A row for each parameter of each operation. */
const parametersIn = (place: 'path' | 'query') =>
  operations.flatMap((operation) =>
    operation.parameters
      .filter((parameter) => parameter.in === place)
      .map((parameter) => [operation.operationId, parameter.name, operation, parameter] as const),
  );

describe('a path parameter', () => {
  const values = [
    '%zz',
    '%',
    '%00',
    '%E0%A4%A',
    '%ED%A0%80',
    '..%2F..%2Fx',
    '%20',
    '%27%20OR%201=1',
    '1e400',
    '-1',
    '9007199254740993',
    'NaN',
    '__proto__',
    'a'.repeat(8_000),
  ];

  it.each(parametersIn('path'))('of %s that is not valid is named: %s', async (_operationId, name, operation) => {
    for (const value of values) {
      // As it is, not encoded.
      const [, target = ''] = targetOf(operation, { [name]: 'MARK' })
        .replace('MARK', value)
        .split(' ');
      const answer = await rawCall(harness, { method: operation.method, target, headers: [bearer()] });
      expectRawProblem(answer, 400, 'validation_failed');
      expect(JSON.parse(answer.text).errors).toContainEqual(expect.objectContaining({ parameter: name }));
    }
  });
});

describe('a query', () => {
  const expectFault = async (
    operation: ContractOperation,
    query: string,
    fault: object,
    code = 'validation_failed',
  ): Promise<void> => {
    const target = `${pathOf(operation).split('?')[0]}?${query}`;
    const raw = operation.method === 'POST' ? { headers: { 'Content-Type': 'application/json' }, raw: '{}' } : {};
    const { status, body } = await call(harness, `${operation.method} ${target}`, { token: partner.token, ...raw });
    expect({ query, status }).toEqual({ query, status: 400 });
    if (operation.operationId === 'issueToken') {
      expect(body.error_description).toBe(`The query parameter ${query.split('=')[0]} is not known here.`);
      return expect(body.error).toBe('invalid_request');
    }
    expect(body.code).toBe(code);
    expect(body.errors).toContainEqual(expect.objectContaining(fault));
  };

  it.each(operations.map((operation) => [operation.operationId, operation] as const))(
    'of %s with an unknown parameter is refused',
    async (_operationId, operation) => {
      await expectFault(operation, 'unknown=1', { parameter: 'unknown' });
      await expectFault(operation, 'constructor=1', { parameter: 'constructor' });
      await expectFault(operation, '__proto__=1', { parameter: '__proto__' });
    },
  );

  const numbers = ['', 'x', '1.5', '-1', '0', '1e400', 'NaN', 'Infinity', '2147483648', '9007199254740993', '%zz'];

  it.each(parametersIn('query'))('of %s that repeats or misuses %s is refused', async (_id, name, operation, one) => {
    const { example, schema } = one;
    const sent = `${name}=${encodeURIComponent(String(example))}`;
    await expectFault(operation, `${sent}&${sent}`, { parameter: name });
    // A name that is no property's is not repeated to the caller.
    await expectFault(operation, `${name}%5B%5D=1&${sent}`, { code: 'additionalProperties' });
    await expectFault(operation, `${name}=a%00b`, { parameter: name }, schema['x-problem-codes']?.['pattern']);
    if (schema.type !== 'integer') return;
    for (const value of numbers) await expectFault(operation, `${name}=${value}`, { parameter: name });
  });
});

describe('the Accept header', () => {
  const problem = 'application/problem+json; charset=utf-8';
  const json = 'application/json; charset=utf-8';

  const admitted = {
    [problem]: [
      '*/*',
      'application/*',
      'application/problem+json',
      'application/json, application/problem+json',
      'application/json, */*;q=0.1',
      'text/html',
      'application/json;q=0',
      '',
      'garbage',
      ',;,;q=x',
      'application/json'.repeat(500),
    ],
    [json]: [
      'application/json',
      'application/json; charset=utf-8',
      'application/json, text/html',
      'APPLICATION/JSON',
      '*/json',
      'application/problem+json;q=0, application/json',
    ],
  };
  const rows = Object.entries(admitted).flatMap(([type, values]) =>
    titled(values).map((row) => [...row, type] as const),
  );

  it.each(rows)('%s decides the media type of an error', async (_title, accept, type) => {
    const { status, headers, text } = await rawCall(harness, { target: '/clinics', headers: [['Accept', accept]] });
    expect({ status, type: headers['content-type'] }).toEqual({ status: 401, type });
    expect(JSON.parse(text).code).toBe('token_missing');
  });

  it('is not needed', async () => {
    expectRawProblem(await rawCall(harness, { target: '/clinics' }), 401, 'token_missing');
  });

  it('is no reason to refuse a request', async () => {
    for (const accept of ['text/html', 'garbage', 'application/problem+json']) {
      const options = { token: partner.token, headers: { Accept: accept } };
      const { status, headers } = await call(harness, 'GET /clinics', options);
      expect({ status, type: headers.get('Content-Type') }).toEqual({ status: 200, type: json });
    }
  });
});

describe('the request id', () => {
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  const given = randomUUID();

  it.each(securedOperations.map((operation) => [operation.operationId, operation] as const))(
    'of the caller is kept by %s if it is a UUID',
    async (_operationId, operation) => {
      const { headers, body } = await call(harness, targetOf(operation), { headers: { 'X-Request-Id': given } });
      expect(headers.get('X-Request-Id')).toBe(given);
      expect(body).toMatchObject({ request_id: given, instance: `urn:uuid:${given}` });
    },
  );

  it.each([
    ['no UUID', ['abc']],
    ['nothing', ['']],
    ['more than a UUID', [`${given}x`]],
    ['bytes', ['\u00ff\u00fe']],
    ['two of them', [given, randomUUID()]],
    ['8000 characters', ['a'.repeat(8_000)]],
    ['another header in disguise', [`${given}%0d%0aX-Injected: 1`]],
  ])('is ours if the caller sent %s', async (_what, values) => {
    const headers = values.map((value) => ['X-Request-Id', value] as const);
    const answer = await rawCall(harness, { target: '/clinics', headers });
    expect(answer.headers['x-request-id']).toMatch(uuid);
    expect(values).not.toContain(answer.headers['x-request-id']);
    expectRawProblem(answer, 401, 'token_missing');
  });
});

describe('headers', () => {
  const lineBreak = '%0d%0aX-Injected:%201%0d%0a%0d%0a';

  it.each(['/clinics', '/nowhere', `/clients/${randomUUID()}`, '/healthz', '/files/x', '/docs'])(
    'cannot be injected by a line break in %s',
    async (path) => {
      for (const target of [`${path}${lineBreak}`, `${path}?search=${lineBreak}`, `${path}?${lineBreak}=1`]) {
        expect((await rawCall(harness, { target, headers: [bearer()] })).headers).not.toHaveProperty('x-injected');
      }
    },
  );

  it.each(['X-Request-Id', 'Authorization', 'Accept'])('with a bare line break are refused: %s', async (name) => {
    expectRawProblem(await rawCall(harness, { headers: [[name, 'a\rX-Injected: 1']] }), 400, 'validation_failed');
  });

  it.each(['100-continue, other', 'other'])('are served whatever they expect: %s', async (value) => {
    expect((await rawCall(harness, { target: '/healthz', headers: [['Expect', value]] })).status).toBe(200);
  });

  it('without Host are refused, as RFC 9112 §3.2 demands', async () => {
    const connection = await openConnection(harness);
    connection.socket.write('GET /healthz HTTP/1.1\r\n\r\n');
    expectRawProblem(await connection.answer(), 400, 'validation_failed');
    expect(await connection.closed()).toHaveLength(1);
  });

  it('that are malformed are refused by the token endpoint as its contract declares', async () => {
    const request = { method: 'POST', target: '/oauth/token', headers: [['Bad Name', 'x']] } as const;
    const { status, headers, text } = await rawCall(harness, request);
    const sent = { status, contentType: headers['content-type'] ?? '', body: JSON.parse(text) };
    expect(status).toBe(400);
    expect(contractFaults('issueToken', { ...sent, header: (name) => headers[name.toLowerCase()] })).toEqual([]);
  });

  it.each(['websocket', 'h2c'])('that ask for another protocol are served in this one: %s', async (protocol) => {
    const headers = [
      ['Upgrade', protocol],
      ['Connection', 'Upgrade'],
    ] as const;
    expect((await rawCall(harness, { target: '/healthz', headers })).status).toBe(200);
  });
});
