import { randomUUID } from 'node:crypto';
import { attackedService } from '../support/attackedService.js';
import { contractFaults, securedOperations, targetOf } from '../support/contract.js';
import { call } from '../support/http.js';
import { expectRawProblem, openConnection, rawCall } from '../support/rawHttp.js';

const service = attackedService();

/** A target or a header as a title, shortened. */
const titleOf = (value: string): string => JSON.stringify(value).slice(0, 60);
const bearer = () => ['Authorization', `Bearer ${service.partner.token}`] as const;

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
  const rows = Object.entries(admitted).flatMap(([type, values]) => values.map((accept) => ({ accept, type })));

  it('decides the media type of an error', () =>
    service.everyCase(
      rows,
      ({ accept }) => titleOf(accept),
      async ({ accept, type }) => {
        const { status, headers, text } = await rawCall(service.harness, {
          target: '/clinics',
          headers: [['Accept', accept]],
        });
        expect({ status, type: headers['content-type'] }).toEqual({ status: 401, type });
        expect(JSON.parse(text).code).toBe('token_missing');
      },
    ));

  it('is not needed', async () => {
    expectRawProblem(await rawCall(service.harness, { target: '/clinics' }), 401, 'token_missing');
  });

  it('is no reason to refuse a request', async () => {
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

  it('of the caller is kept by every operation if it is a UUID', () =>
    service.everyCase(
      securedOperations,
      ({ operationId }) => operationId,
      async (operation) => {
        const { headers, body } = await call(service.harness, targetOf(operation), {
          headers: { 'X-Request-Id': given },
        });
        expect(headers.get('X-Request-Id')).toBe(given);
        expect(body).toMatchObject({ request_id: given, instance: `urn:uuid:${given}` });
      },
    ));

  it('is ours if the caller sent another', () =>
    service.everyCase<[string, string[]]>(
      [
        ['no UUID', ['abc']],
        ['nothing', ['']],
        ['more than a UUID', [`${given}x`]],
        ['bytes', ['\u00ff\u00fe']],
        ['two of them', [given, randomUUID()]],
        ['8000 characters', ['a'.repeat(8_000)]],
        ['another header in disguise', [`${given}%0d%0aX-Injected: 1`]],
      ],
      ([what]) => what,
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
  const lineBreak = '%0d%0aX-Injected:%201%0d%0a%0d%0a';

  it('cannot be injected by a line break in the target', () => {
    const paths = ['/clinics', '/nowhere', `/clients/${randomUUID()}`, '/healthz', '/files/x', '/docs'];
    return service.everyCase(paths, titleOf, async (path) => {
      for (const target of [`${path}${lineBreak}`, `${path}?search=${lineBreak}`, `${path}?${lineBreak}=1`]) {
        expect((await rawCall(service.harness, { target, headers: [bearer()] })).headers).not.toHaveProperty(
          'x-injected',
        );
      }
    });
  });

  it('with a bare line break are refused', async () => {
    for (const name of ['X-Request-Id', 'Authorization', 'Accept']) {
      expectRawProblem(
        await rawCall(service.harness, { headers: [[name, 'a\rX-Injected: 1']] }),
        400,
        'validation_failed',
      );
    }
  });

  it('are served whatever they expect', async () => {
    for (const value of ['100-continue, other', 'other']) {
      expect((await rawCall(service.harness, { target: '/healthz', headers: [['Expect', value]] })).status).toBe(200);
    }
  });

  it('without Host are refused, as RFC 9112 §3.2 demands', async () => {
    const connection = await openConnection(service.harness);
    connection.socket.write('GET /healthz HTTP/1.1\r\n\r\n');
    expectRawProblem(await connection.answer(), 400, 'validation_failed');
    expect(await connection.closed()).toHaveLength(1);
  });

  it('that are malformed are refused by the token endpoint as its contract declares', async () => {
    const request = { method: 'POST', target: '/oauth/token', headers: [['Bad Name', 'x']] } as const;
    const { status, headers, text } = await rawCall(service.harness, request);
    const sent = { status, contentType: headers['content-type'] ?? '', body: JSON.parse(text) };
    expect(status).toBe(400);
    expect(contractFaults('issueToken', { ...sent, header: (name) => headers[name.toLowerCase()] })).toEqual([]);
  });

  it('that ask for another protocol are served in this one', async () => {
    for (const protocol of ['websocket', 'h2c']) {
      const headers = [
        ['Upgrade', protocol],
        ['Connection', 'Upgrade'],
      ] as const;
      expect((await rawCall(service.harness, { target: '/healthz', headers })).status).toBe(200);
    }
  });
});
