import { exampleBody, operationOf, requiredHeaders, targetOf } from '../support/contract.js';
import { patientBody } from '../support/factories.js';
import { bodiesUnderAttack, expectRefusal, json, sampleFor } from '../support/hostileBodies.js';
import { call } from '../support/http.js';
import { openConnection, rawCall, requestBytes } from '../support/rawHttp.js';

// How large a body is, and what its headers say of it. What is in it: hostileJson.test.ts.

const LIMIT = 256 * 1024;
const service = bodiesUnderAttack();

/** The same JSON in so many bytes. */
const padded = (value: unknown, size: number): string => JSON.stringify(value).padEnd(size, ' ');

describe('a body of more than 256 KiB', () => {
  it('is too large for every operation', () =>
    service.everyOperation(async (operation) => {
      const { status, body } = await service.sendText(operation, padded(exampleBody(operation), LIMIT + 1));
      expect({ status, code: body.code }).toEqual({ status: 413, code: 'body_too_large' });
    }));

  it('is too large for every operation also when it does not say how large it is', () =>
    service.everyOperation(async (operation) => {
      const [method = '', target = ''] = targetOf(operation).split(' ');
      const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
      const headers = [
        ['Transfer-Encoding', 'chunked'],
        ['Content-Type', 'application/json'],
        ['Authorization', `Bearer ${service.partner.token}`],
        ...Object.entries(requiredHeaders(operation)),
      ] as const;
      const { status, text } = await rawCall(service.harness, {
        method,
        target,
        headers,
        body: `${chunk.repeat(5)}0\r\n\r\n`,
      });
      expect({ status, code: JSON.parse(text).code }).toEqual({ status: 413, code: 'body_too_large' });
    }));

  it('is too large however large it is', async () => {
    const { status, body } = await service.sendText(operationOf('createPatient'), padded(patientBody(), 8 * LIMIT));
    expect({ status, code: body.code }).toEqual({ status: 413, code: 'body_too_large' });
  });

  it('is read when it has just 256 KiB', async () => {
    const { status, body } = await call(service.harness, 'POST /clients', {
      token: service.partner.token,
      raw: padded(patientBody({ employer: 'of 256 KiB' }), LIMIT),
      headers: json,
    });
    expect(status).toBe(201);
    const read = await call(service.harness, `GET /clients/${body.user_id}`, { token: service.partner.token });
    expect(read.body.employer).toBe('of 256 KiB');
  });

  it('is read by no operation when the head of the request is at fault', () =>
    service.everyOperation(async (operation) => {
      const large = { raw: padded({}, LIMIT + 1), headers: { ...json, ...requiredHeaders(operation) } };
      const [method = '', path = ''] = targetOf(operation).split(' ');
      const places = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
      const targets = [`${method} ${path}?unknown=1`, ...places.map((name) => targetOf(operation, { [name]: '0x1' }))];
      for (const target of targets) {
        const answer = await call(service.harness, target, { token: service.partner.token, ...large });
        expectRefusal(operation, answer, 'validation_failed');
        expect(answer.headers.get('Connection')).toBe('close');
      }
      const required = operation.parameters.filter((parameter) => parameter.in === 'header' && parameter.required);
      if (required.length === 0) return;
      const keyless = { token: service.partner.token, ...large, headers: json };
      const { status, body } = await call(service.harness, `${method} ${path}`, keyless);
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'idempotency_key_required' });
    }));

  it('is not read at all for a caller who may not send it', async () => {
    const large = { raw: padded({}, LIMIT + 1), headers: json };
    const { status, headers, body } = await call(service.harness, 'POST /clients', large);
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
        ['Authorization', `Bearer ${service.partner.token}`],
      ],
    });

  it('by too little makes the rest another, malformed request', async () => {
    const connection = await openConnection(service.harness);
    connection.socket.write(start(26 - 9));
    const answers = (await connection.closed()).map(({ status, text }) => [status, JSON.parse(text).code]);
    expect(answers).toEqual([
      [400, 'malformed_json'],
      [400, 'validation_failed'],
    ]);
  });

  it('by too much is a request that ends early', async () => {
    const connection = await openConnection(service.harness);
    connection.socket.end(start(27));
    const answers = (await connection.closed()).map(({ status, text }) => [status, JSON.parse(text).code]);
    expect(answers).toEqual([[400, 'validation_failed']]);
  });
});

describe('the content type', () => {
  it('is checked by every operation', () =>
    service.everyOperation(async (operation) => {
      const raw = JSON.stringify(exampleBody(operation));
      for (const type of sampleFor(operation, [
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
      ])) {
        expectRefusal(
          operation,
          await service.sendText(operation, raw, { 'Content-Type': type }),
          'content_type_not_json',
        );
      }
      // A body of bytes, because an HTTP client gives text a type.
      expectRefusal(operation, await service.send(operation, { raw: Buffer.from(raw) }), 'content_type_not_json');
      if (operation.operationId === 'issueToken') return;
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
      expectRefusal(operation, await service.sendText(operation, 'a=1', form), 'content_type_not_json');
    }));

  // RFC 8259 §8.1: the text is UTF-8 whatever the charset says.
  it('may have any spelling and charset', () =>
    service.everyOperation(async (operation) => {
      for (const type of sampleFor(operation, [
        'application/json;charset=utf-8',
        'application/json; charset="UTF-8"',
        'Application/JSON',
        'application/json; charset=latin1',
      ])) {
        expectRefusal(operation, await service.sendText(operation, '{', { 'Content-Type': type }), 'malformed_json');
      }
    }));

  it('does not admit compression', () =>
    service.everyOperation(async (operation) => {
      for (const encoding of sampleFor(operation, ['gzip', 'deflate', 'br', 'gzip, gzip', 'other'])) {
        const answer = await service.sendText(operation, '{}', { 'Content-Encoding': encoding });
        expectRefusal(operation, answer, 'content_type_not_json');
      }
    }));
});
