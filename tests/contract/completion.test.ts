import { contract, operations } from '../support/contract.js';

// openapi/completion.js adds parameters, headers and responses to operations. The served contract must have them.

const isSecured = ({ security }: { security: readonly unknown[] }): boolean => security.length > 0;
const takes = (name: string) => (operation: (typeof operations)[number]) =>
  operation.parameters.some((parameter) => parameter.name === name);
const isKeyed = takes('Idempotency-Key');

it('every secured operation, and no other, takes Sandbox-Behavior', () => {
  expect(operations.filter(takes('Sandbox-Behavior'))).toEqual(operations.filter(isSecured));
});

const responses = operations.flatMap((operation) =>
  Object.entries(operation.responses).map(([status, response]) => ({
    name: `${operation.operationId} ${status}`,
    operation,
    status: Number(status),
    headers: Object.keys(response.headers ?? {}),
    content: response.content ?? {},
  })),
);
const namesWithout = (header: string, of: (response: (typeof responses)[number]) => boolean): string[] =>
  responses.filter((response) => of(response) && !response.headers.includes(header)).map(({ name }) => name);

it.each(['X-Request-Id', 'API-Version'])('every response has the header %s', (header) => {
  expect(namesWithout(header, () => true)).toEqual([]);
});

it.each(['RateLimit', 'RateLimit-Policy'])(
  'every response of a limited operation has the header %s, except to a refused token',
  (header) => {
    const without = namesWithout(header, ({ operation }) => operation.statuses.includes(429));
    expect(without).toEqual(
      operations
        .filter((operation) => isSecured(operation) && operation.operationId !== 'uploadPatientDocument')
        .map(({ operationId }) => `${operationId} 401`),
    );
  },
);

it('every success of a secured operation has Cache-Control, and every success of a keyed one Idempotent-Replayed', () => {
  const isSuccess = ({ status }: { status: number }): boolean => status < 300;
  expect(namesWithout('Cache-Control', (one) => isSuccess(one) && isSecured(one.operation))).toEqual([]);
  expect(namesWithout('Idempotent-Replayed', (one) => isSuccess(one) && isKeyed(one.operation))).toEqual([]);
});

it('every 409 of an operation with an Idempotency-Key has Retry-After and the example idempotency_in_progress', () => {
  const conflicts = responses.filter(({ operation, status }) => status === 409 && isKeyed(operation));
  for (const { headers, content } of conflicts) {
    expect(headers).toContain('Retry-After');
    expect(content).toHaveProperty(['application/json', 'examples', 'idempotency_in_progress']);
  }
});

it('every failure, except four of issueToken and getReadiness, is a problem, alike as application/problem+json and application/json', () => {
  const differing = responses.filter(({ status, content }) => {
    const [problem, json] = [content['application/problem+json'], content['application/json']];
    return status >= 400 && !(problem && JSON.stringify(problem) === JSON.stringify(json));
  });
  // RFC 6749 rules the errors of the token endpoint; a failing readiness response names the database.
  const others = ['issueToken 400', 'issueToken 401', 'issueToken 429', 'getReadiness 503'];
  expect(differing.map(({ name }) => name)).toEqual(others);
});

it('the completed contract keeps a response that the file of an operation states itself', () => {
  const [upload] = operations.filter(({ operationId }) => operationId === 'uploadPatientDocument');
  const { content } = upload?.responses['401'] ?? {};
  expect(content).toHaveProperty(['application/problem+json', 'examples', 'patient_access_denied']);
});

it('the completed contract has no x- mark that only the completion reads', () => {
  expect(JSON.stringify(contract)).not.toMatch(/"x-(problems|responses|event|like)"/);
});
