import { exampleBody, operationOf, requiredHeaders, targetOf } from '../support/contract.js';
import { patientBody } from '../support/factories.js';
import { bodiesUnderAttack, expectRefusal, sampleFor } from '../support/hostileBodies.js';
import { call, jsonType } from '../support/http.js';
import { jsonHeaders, openConnection, rawCall, requestBytes } from '../support/rawHttp.js';

// Size and headers of bodies; hostileJson.test.ts covers their content.

const LIMIT = 256 * 1024;
const service = await bodiesUnderAttack();

/** JSON, padded with spaces to a size in bytes. */
const padded = (value: unknown, size: number): string => JSON.stringify(value).padEnd(size, ' ');

it('a body of exactly 256 KiB is accepted', async () => {
  const raw = padded(patientBody({ employer: 'of 256 KiB' }), LIMIT);
  const { status, body } = await service.sendText(operationOf('createPatient'), raw);
  expect(status).toBe(201);
  const read = await call(service.harness, `GET /clients/${body.user_id}`, { token: service.partner.token });
  expect(read.body.employer).toBe('of 256 KiB');
});

describe('a body above 256 KiB', () => {
  it('gets 413 if it is chunked, at every operation', () =>
    service.everyOperation(async (operation) => {
      const [method = '', target = ''] = targetOf(operation).split(' ');
      const required = Object.entries(requiredHeaders(operation));
      const headers = jsonHeaders(service.partner.token, ['Transfer-Encoding', 'chunked'], ...required);
      const body = `${`10000\r\n${' '.repeat(0x10000)}\r\n`.repeat(5)}0\r\n\r\n`;
      const { status, text } = await rawCall(service.harness, { method, target, headers, body });
      expect({ status, code: JSON.parse(text).code }).toEqual({ status: 413, code: 'body_too_large' });
    }));

  it('gets 400, not 413, for an unknown query parameter, an invalid path parameter or a missing Idempotency-Key, at every operation', () =>
    service.everyOperation(async (operation) => {
      const raw = padded({}, LIMIT + 1);
      const large = { token: service.partner.token, raw, headers: { ...jsonType, ...requiredHeaders(operation) } };
      const [method = '', path = ''] = targetOf(operation).split(' ');
      const places = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
      const targets = [`${method} ${path}?unknown=1`, ...places.map((name) => targetOf(operation, { [name]: '0x1' }))];
      for (const target of targets) {
        const answer = await call(service.harness, target, large);
        expectRefusal(operation, answer, 'validation_failed');
        expect(answer.headers.get('Connection')).toBe('close');
      }
      if (Object.keys(requiredHeaders(operation)).length === 0) return;
      const { status, body } = await call(service.harness, `${method} ${path}`, { ...large, headers: jsonType });
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'idempotency_key_required' });
    }));

  it('gets 401, not 413, and Connection: close for a missing token', async () => {
    const large = { raw: padded({}, LIMIT + 1), headers: jsonType };
    const { status, headers, body } = await call(service.harness, 'POST /clients', large);
    expect([status, body.code, headers.get('Connection')]).toEqual([401, 'token_missing', 'close']);
  });
});

describe('a wrong Content-Length', () => {
  // Node answers the malformed rest, and closes the connection before the first request has its answer.
  it.each([
    ['that is too small, so that the rest is a malformed request,', 26 - 9, false],
    ['that is larger than the body', 27, true],
  ])('%s gets 400 and a closed connection', async (_which, length, end) => {
    const headers = jsonHeaders(service.partner.token, ['Content-Length', String(length)]);
    const body = '{"encounter_id":999999999}';
    const connection = await openConnection(service.harness);
    connection.socket.write(requestBytes({ method: 'POST', target: '/encounters/status', body, headers }));
    if (end) connection.socket.end();
    expect(await connection.closed()).toMatchObject([{ status: 400, text: '' }]);
  });
});

describe('the content type', () => {
  const otherTypes = [
    ...['text/plain', 'multipart/form-data', 'application/xml', 'application/problem+json', 'application/jsonp'],
    ...['application/vnd.api+json', 'application/json, text/plain', '*/*', ';;;', 'garbage'],
  ];
  it('must be JSON, or a form at the token endpoint, at every operation', () =>
    service.everyOperation(async (operation) => {
      const raw = JSON.stringify(exampleBody(operation));
      for (const type of sampleFor(operation, otherTypes)) {
        const answer = await service.sendText(operation, raw, { 'Content-Type': type });
        expectRefusal(operation, answer, 'content_type_not_json');
      }
      // Bytes, because fetch adds a content type to text.
      expectRefusal(operation, await service.send(operation, { raw: Buffer.from(raw) }), 'content_type_not_json');
      if (operation.operationId === 'issueToken') return;
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
      expectRefusal(operation, await service.sendText(operation, 'a=1', form), 'content_type_not_json');
    }));

  // RFC 8259 §8.1: JSON is UTF-8, so a charset has no effect.
  it('may spell JSON in any letter case and with any charset, at every operation', () =>
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

  it('is refused together with a Content-Encoding, at every operation', () =>
    service.everyOperation(async (operation) => {
      for (const encoding of sampleFor(operation, ['gzip', 'deflate', 'br', 'gzip, gzip', 'other'])) {
        const answer = await service.sendText(operation, '{}', { 'Content-Encoding': encoding });
        expectRefusal(operation, answer, 'content_type_not_json');
      }
    }));
});
