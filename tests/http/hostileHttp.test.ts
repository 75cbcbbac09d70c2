import { attackedService } from '../support/attackedService.js';
import { operations, targetOf, type ContractOperation } from '../support/contract.js';
import { call } from '../support/http.js';
import { expectRawProblem, rawCall } from '../support/rawHttp.js';

// Methods, targets and parameters; hostileHeaders.test.ts covers headers.

const service = await attackedService();
const nameOf = ({ operationId }: ContractOperation): string => operationId;

/** A target, shortened to a title. */
const titleOf = (value: string): string => JSON.stringify(value).slice(0, 60);
const bearer = () => ['Authorization', `Bearer ${service.partner.token}`] as const;

const pathOf = (operation: ContractOperation): string => targetOf(operation).split(' ')[1] ?? '';
const paths = [...new Set(operations.map((operation) => pathOf(operation).split('?')[0] ?? ''))];

/** Methods of the path template that matches; a concrete path wins, because /encounters/status is not an encounter. */
function methodsOf(path: string): string[] {
  const fits = ({ path: template }: ContractOperation) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  const concrete = operations.filter((operation) => operation.path === path);
  return (concrete.length > 0 ? concrete : operations.filter(fits)).map(({ method }) => method).sort();
}

const methods = ['HEAD', 'OPTIONS', 'TRACE', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'];

it('the service answers 405 with the methods of the path in Allow to any other method', () =>
  service.everyCase(paths, titleOf, async (path) => {
    const isPublic = operations.some((operation) => pathOf(operation) === path && operation.security.length === 0);
    const allowed = [...methodsOf(path), ...(isPublic && methodsOf(path).includes('GET') ? ['HEAD'] : [])];
    for (const method of methods.filter((candidate) => !allowed.includes(candidate))) {
      const answer = await rawCall(service.harness, { method, target: path });
      expect({ method, status: answer.status }).toEqual({ method, status: 405 });
      expect(answer.headers['allow']?.split(', ').sort()).toEqual(allowed.toSorted());
      if (method === 'HEAD') expect(answer.text).toBe('');
      else expectRawProblem(answer, 405, 'method_not_allowed');
    }
  }));

it('the service answers conditional and range requests with declared statuses only', () => {
  const read = operations.filter(({ method }) => method === 'GET');
  return service.everyCase(read, nameOf, async (operation) => {
    const conditions = [
      ['If-None-Match', '*'],
      ['If-Match', '"other"'],
      ['Range', 'bytes=99999999-'],
    ] as const;
    for (const condition of conditions) {
      const { status } = await rawCall(service.harness, { target: pathOf(operation), headers: [bearer(), condition] });
      expect(operation.statuses).toContain(status);
    }
  });
});

describe('a request target', () => {
  const unknown = [
    ...['/index.html', '/nowhere', '/files', '/files/a/b', '/encounters/1/2', '/__proto__', '/constructor', '*'],
    ...['/clinics/', '/clinics//', '//clinics', '/CLINICS', '/clients/../clinics', '/clinics;x=1', '/clinics%2F'],
    ...['/clinics%00', '/clinics%E0%A4%A', '/%zz', '/%', '/%00', '/%2e%2e/%2e%2e/etc/passwd'],
    ...[`/${'a'.repeat(15_000)}`, 'http://other.example/nowhere'],
  ];

  it('gets 404 route_not_found when the contract has no such path', () =>
    service.everyCase(unknown, titleOf, async (target) => {
      for (const method of ['GET', 'POST']) {
        const answer = await rawCall(service.harness, { method, target, headers: [bearer()] });
        expectRawProblem(answer, 404, 'route_not_found');
      }
    }));

  const malformed: readonly [string, number][] = [
    [`/clinics?search=${'a'.repeat(20_000)}`, 431],
    ...['/clinics?search=caf\u00e9', '/caf\u00e9', '/a\u0000b', '/a b', 'clinics'].map((target): [string, number] => [
      target,
      400,
    ]),
  ];

  it('gets 400 when it is malformed, and 431 when it is too long', () =>
    service.everyCase(
      malformed,
      ([target]) => titleOf(target),
      async ([target, status]) => {
        expect(await rawCall(service.harness, { target })).toMatchObject({ status, text: '' });
      },
    ));

  const links = ['/files/%zz', '/files/%00', '/files/x', `/files/${'a'.repeat(10_000)}`];

  it('gets 403 when it is a file link without a valid signature', () =>
    service.everyCase(links, titleOf, async (target) => {
      expect((await rawCall(service.harness, { target })).status).toBe(403);
    }));

  it('gets 200 for a documentation page even if Range or If-Match cannot be satisfied', async () => {
    const statusFor = async (name: string, value: string): Promise<number> =>
      (await rawCall(service.harness, { target: '/docs', headers: [[name, value]] })).status;
    expect([await statusFor('Range', 'bytes=99999999-'), await statusFor('If-Match', '"other"')]).toEqual([200, 200]);
  });
});

/** Every path or query parameter of every operation. */
const parametersIn = (place: 'path' | 'query') =>
  operations.flatMap((operation) =>
    operation.parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, example, schema }) => ({ operation, name, example, schema })),
  );
const parameterName = ({ operation, name }: { operation: ContractOperation; name: string }): string =>
  `${nameOf(operation)} ${name}`;

const malformedIds = [
  ...['%zz', '%', '%00', '%E0%A4%A', '%ED%A0%80', '..%2F..%2Fx', '%20', '%27%20OR%201=1'],
  ...['1e400', '-1', '9007199254740993', 'NaN', '__proto__', 'a'.repeat(8_000)],
];

it('the service answers 400 to an invalid path parameter, and names it', () =>
  service.everyCase(parametersIn('path'), parameterName, async ({ operation, name }) => {
    for (const value of malformedIds) {
      // Insert the value without encoding it.
      const [, target = ''] = targetOf(operation, { [name]: 'MARK' })
        .replace('MARK', value)
        .split(' ');
      const answer = await rawCall(service.harness, { method: operation.method, target, headers: [bearer()] });
      expectRawProblem(answer, 400, 'validation_failed');
      expect(JSON.parse(answer.text).errors).toContainEqual(expect.objectContaining({ parameter: name }));
    }
  }));

describe('a query', () => {
  const expectFault = async (
    operation: ContractOperation,
    query: string,
    fault: object,
    code = 'validation_failed',
  ): Promise<void> => {
    const target = `${operation.method} ${pathOf(operation).split('?')[0]}?${query}`;
    const sent = operation.method === 'POST' ? { json: {} } : {};
    const { status, body } = await call(service.harness, target, { token: service.partner.token, ...sent });
    expect({ query, status }).toEqual({ query, status: 400 });
    if (operation.operationId === 'issueToken') {
      expect(body.error_description).toBe(`The query parameter ${query.split('=')[0]} is not recognized; remove it.`);
      return expect(body.error).toBe('invalid_request');
    }
    expect(body.code).toBe(code);
    expect(body.errors).toContainEqual(expect.objectContaining(fault));
  };

  it('gets 400 for an unknown parameter, at every operation', () =>
    service.everyCase(operations, nameOf, async (operation) => {
      for (const parameter of ['unknown', 'constructor', '__proto__'])
        await expectFault(operation, `${parameter}=1`, { parameter });
    }));

  const numbers = ['', 'x', '1.5', '-1', '0', '1e400', 'NaN', 'Infinity', '9007199254740993', '%zz'];

  it('gets 400 for a repeated or malformed parameter', () =>
    service.everyCase(parametersIn('query'), parameterName, async ({ operation, name, example, schema }) => {
      const sent = `${name}=${encodeURIComponent(String(example))}`;
      await expectFault(operation, `${sent}&${sent}`, { parameter: name });
      // The error does not repeat a name that is not an identifier.
      await expectFault(operation, `${name}%5B%5D=1&${sent}`, { code: 'additionalProperties' });
      const needed = operation.parameters.filter(
        (other) => other.in === 'query' && other.required && other.name !== name,
      );
      const others = needed.map((other) => `&${other.name}=${encodeURIComponent(String(other.example))}`).join('');
      const malformed = `${name}=a%00b${others}`;
      await expectFault(operation, malformed, { parameter: name }, schema['x-problem-codes']?.['pattern']);
      if (schema.type !== 'integer') return;
      const tooLarge = String((schema.maximum ?? 2 ** 31) + 1);
      for (const value of [...numbers, tooLarge]) await expectFault(operation, `${name}=${value}`, { parameter: name });
    }));
});
