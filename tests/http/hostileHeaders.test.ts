import { randomUUID } from 'node:crypto';
import { attackedService } from '../support/attackedService.js';
import { securedOperations, targetOf } from '../support/contract.js';
import { call } from '../support/http.js';
import { expectRawProblem, openConnection, rawCall, requestBytes } from '../support/rawHttp.js';

const service = await attackedService();

/** A target or header value, shortened to a title. */
const titleOf = (value: string): string => JSON.stringify(value).slice(0, 60);
const bearer = () => ['Authorization', `Bearer ${service.partner.token}`] as const;

describe('the Accept header', () => {
  const problem = 'application/problem+json; charset=utf-8';
  const json = 'application/json; charset=utf-8';

  const admitted = {
    [problem]: [
      ...['*/*', 'application/*', 'application/problem+json', 'application/json, application/problem+json'],
      ...['application/json, */*;q=0.1', 'text/html', 'application/json;q=0', '', 'garbage', ',;,;q=x'],
      'application/json'.repeat(500),
    ],
    [json]: [
      ...['application/json', 'application/json; charset=utf-8', 'application/json, text/html', 'APPLICATION/JSON'],
      ...['*/json', 'application/problem+json;q=0, application/json'],
    ],
  };
  const rows = Object.entries(admitted).flatMap(([type, values]) => values.map((accept) => ({ accept, type })));

  it('selects the media type of an error', () =>
    service.everyCase(
      rows,
      ({ accept }) => titleOf(accept),
      async ({ accept, type }) => {
        const request = { target: '/clinics', headers: [['Accept', accept]] } as const;
        const { status, headers, text } = await rawCall(service.harness, request);
        expect({ status, type: headers['content-type'] }).toEqual({ status: 401, type });
        expect(JSON.parse(text).code).toBe('token_missing');
      },
    ));

  it('may be absent: an error is then application/problem+json', async () => {
    expectRawProblem(await rawCall(service.harness, { target: '/clinics' }), 401, 'token_missing');
  });

  it('never makes a request fail: a successful response is application/json', async () => {
    for (const accept of ['text/html', 'garbage', 'application/problem+json']) {
      const options = { token: service.partner.token, headers: { Accept: accept } };
      const { status, headers } = await call(service.harness, 'GET /clinics', options);
      expect({ status, type: headers.get('Content-Type') }).toEqual({ status: 200, type: json });
    }
  });
});

describe('the request id', () => {
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  const given = randomUUID();

  it('is the X-Request-Id of the caller if that is a UUID, at every operation that needs a token', () =>
    service.everyCase(
      securedOperations,
      ({ operationId }) => operationId,
      async (operation) => {
        const sent = { headers: { 'X-Request-Id': given } };
        const { headers, body } = await call(service.harness, targetOf(operation), sent);
        expect(headers.get('X-Request-Id')).toBe(given);
        expect(body).toMatchObject({ request_id: given, instance: `urn:uuid:${given}` });
      },
    ));

  it('is a new UUID if the X-Request-Id of the caller is not exactly one UUID', () =>
    service.everyCase<[string, string[]]>(
      [
        ['text', ['abc']],
        ['an empty value', ['']],
        ['a UUID with a suffix', [`${given}x`]],
        ['bytes', ['\u00ff\u00fe']],
        ['two UUIDs', [given, randomUUID()]],
        ['8000 characters', ['a'.repeat(8_000)]],
        ['an encoded line break', [`${given}%0d%0aX-Injected: 1`]],
      ],
      ([kind]) => kind,
      async ([, values]) => {
        const headers = values.map((value) => ['X-Request-Id', value] as const);
        const answer = await rawCall(service.harness, { target: '/clinics', headers });
        expect(answer.headers['x-request-id']).toMatch(uuid);
        expect(values).not.toContain(answer.headers['x-request-id']);
        expectRawProblem(answer, 401, 'token_missing');
      },
    ));
});

describe('headers', () => {
  const upgrade = ['Connection', 'Upgrade'] as const;
  const lineBreak = '%0d%0aX-Injected:%201%0d%0a%0d%0a';

  it('cannot be injected by an encoded line break in the target', () => {
    const paths = ['/clinics', '/nowhere', `/clients/${randomUUID()}`, '/healthz', '/files/x', '/docs'];
    return service.everyCase(paths, titleOf, async (path) => {
      for (const target of [`${path}${lineBreak}`, `${path}?search=${lineBreak}`, `${path}?${lineBreak}=1`]) {
        const { headers } = await rawCall(service.harness, { target, headers: [bearer()] });
        expect(headers).not.toHaveProperty('x-injected');
      }
    });
  });

  it('get 400 with a bare carriage return, or with a blank in a name', async () => {
    const names = ['X-Request-Id', 'Authorization', 'Accept'].map((name) => [name, 'a\rX-Injected: 1'] as const);
    for (const header of [...names, ['Bad Name', 'x'] as const]) {
      expect(await rawCall(service.harness, { headers: [header] })).toMatchObject({ status: 400, text: '' });
    }
  });

  it('may contain an unknown expectation in Expect', async () => {
    for (const value of ['100-continue, other', 'other']) {
      expect((await rawCall(service.harness, { target: '/healthz', headers: [['Expect', value]] })).status).toBe(200);
    }
  });

  it('are ignored if they offer an upgrade of the protocol', async () => {
    for (const protocol of ['websocket', 'h2c']) {
      const connection = await openConnection(service.harness);
      connection.socket.write(requestBytes({ target: '/healthz', headers: [['Upgrade', protocol], upgrade] }));
      expect(await connection.answer()).toMatchObject({ status: 200, complete: true });
      connection.socket.destroy();
    }
  });
});
