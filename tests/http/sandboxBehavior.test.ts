import { createMetrics } from '../../src/adapters/metrics/createMetrics.js';
import { sandboxBehavior } from '../../src/http/endpoint/sandboxBehavior.js';
import { startTelemetry } from '../../src/telemetry.js';
import { cast, seedCast } from '../support/cast.js';
import { contractFaults, exampleBody, failureExamples, operationOf, requiredHeaders } from '../support/contract.js';
import { securedOperations, targetOf, type ContractOperation } from '../support/contract.js';
import { everyCase } from '../support/everyCase.js';
import { newPartner, patientBody } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { callerContext } from '../support/patientLives.js';
import { expectProblem } from '../support/refusals.js';
import { thingsOf } from '../support/sandbox.js';

const metrics = createMetrics();
startTelemetry({ metrics });

const limits = ['REQUESTS', 'BURST', 'UPLOADS', 'BULK'].map((name) => [`RATE_LIMIT_${name}`, '100000']);
// Four connections give a sandbox one slot.
const harness = await openHarness({
  environment: { DATABASE_POOL_SIZE: '4', RATE_LIMIT: 'on', ...Object.fromEntries(limits) },
});
const partner = await seedCast(harness);
const live = await newPartner(harness);

/** Sends the example of the operation with the Sandbox-Behavior header. */
function send(operation: ContractOperation, behavior: string, { token } = partner): Promise<Answer> {
  const keyed = operation.parameters.some(({ name }) => name === 'Idempotency-Key');
  return call(harness, targetOf(operation), {
    token,
    headers: {
      ...requiredHeaders(operation),
      ...(keyed ? { 'Idempotency-Key': 'of the sandbox' } : {}),
      'X-Request-Id': cast.requestId,
      'Sandbox-Behavior': behavior,
    },
    ...(operation.requestBody ? { json: exampleBody(operation) } : {}),
  });
}

// Examples are named after their codes.
const documented = failureExamples.filter(
  ({ mediaType, operationId }) =>
    mediaType === 'application/problem+json' && securedOperations.includes(operationOf(operationId)),
);
/** Requests in the metrics so far. */
const countOf = async (): Promise<number> =>
  (await metrics.requests.get()).values
    .filter(({ metricName }) => metricName?.endsWith('_count'))
    .reduce((sum, { value }) => sum + value, 0);

it('Sandbox-Behavior returns every documented problem of every operation that needs a token, without effects', async () => {
  const before = await thingsOf(harness, cast.tenantId);
  const requests = await countOf();
  await everyCase(
    documented,
    ({ title }) => title,
    async ({ operationId, status, name: code, example }) => {
      const operation = operationOf(operationId);
      const answer = await send(operation, `error=${code}`);
      const { headers, body } = answer;
      const header = (name: string): string | undefined => headers.get(name) ?? undefined;
      expect(body).toEqual(example);
      const sent = { status: answer.status, contentType: header('Content-Type') ?? '', header, body };
      expect(contractFaults(operationId, sent)).toEqual([]);
      expect(answer.status).toBe(status);
      expect([header('RateLimit'), header('RateLimit-Policy')]).not.toContain(undefined);
      expect(header('WWW-Authenticate') !== undefined).toBe([401, 403].includes(status));
      const isLater = ['sandbox_busy', 'idempotency_in_progress', 'rate_limited'].includes(code) || status === 503;
      expect(header('Retry-After') !== undefined).toBe(isLater);
      if (code === 'rate_limited') expect(header('RateLimit')).toMatch(/;r=0;/);
      if (code === 'insufficient_permission')
        expect(header('WWW-Authenticate')).toContain(`scope="${operation.scopes.join(' ')}"`);
    },
    4,
  );
  expect(await thingsOf(harness, cast.tenantId)).toEqual(before);
  expect(await countOf()).toBe(requests);
  expect(harness.logged.filter(({ msg }) => msg === 'request failed')).toEqual([]);
});

it('Sandbox-Behavior gets 400 with the error sandbox_only in a live tenant, without effects', async () => {
  const before = await thingsOf(harness, live.tenantId);
  const fault = { parameter: 'sandbox-behavior', code: 'sandbox_only' };
  await everyCase(
    securedOperations,
    ({ operationId }) => operationId,
    async (operation) => expectProblem(await send(operation, 'delay=0', live), 400, 'validation_failed', [fault]),
  );
  expect(await thingsOf(harness, live.tenantId)).toEqual(before);
});

it('Sandbox-Behavior gets 400 for a malformed value, a delay above 30 s and a problem that the operation does not document', () =>
  everyCase(
    Object.entries({
      pattern: [
        ...['', 'error', 'error=', 'rate_limited', 'Error=rate_limited', 'delay=10;error=rate_limited', 'delay=10,'],
        ...['delay=-1', 'delay=1.5'],
      ],
      range: ['delay=1e3', 'delay=30001', 'delay=999999999999'],
      enum: ['error=not_due', 'error=constructor', 'error=invalid_client'],
    }).flatMap(([code, headers]) => headers.map((header) => [header, code] as const)),
    ([header]) => header,
    async ([header, code]) => {
      const answer = await send(operationOf('listClinics'), header);
      expectProblem(answer, 400, 'validation_failed', [{ parameter: 'sandbox-behavior', code }]);
      if (code === 'enum') expect(answer.body.errors[0].detail).toContain('token_expired, client_inactive');
    },
  ));

it('Sandbox-Behavior lets an invalid request get its real error instead of the simulated one', async () => {
  const headers = { 'Sandbox-Behavior': 'error=clinic_inactive' };
  const request = { token: partner.token, json: { clinicId: 'x' }, headers };
  expectProblem(await call(harness, 'POST /encounters', request), 400, 'validation_failed');
});

it('Sandbox-Behavior delays only the request that has it, which then succeeds', async () => {
  const order: string[] = [];
  const start = performance.now();
  const create = async (name: string, headers: Record<string, string>): Promise<number> => {
    const { status } = await call(harness, 'POST /clients', { token: partner.token, json: patientBody(), headers });
    order.push(name);
    return status;
  };
  const late = create('late', { 'Sandbox-Behavior': 'delay=300' });
  const failing = send(operationOf('listClinics'), 'delay=50, error=dependency_unavailable');
  expect(await create('prompt', {})).toBe(201);
  expect(await late).toBe(201);
  expect(performance.now() - start).toBeGreaterThanOrEqual(300);
  expect(order).toEqual(['prompt', 'late']);
  expectProblem(await failing, 503, 'dependency_unavailable');
});

it('Sandbox-Behavior delays at most 100 requests of a tenant at a time, not counting those of other tenants', async () => {
  const behave = sandboxBehavior();
  const { caller } = await callerContext(harness, partner, harness.domain.now);
  const delayed = (tenantId: string, delayMs: number): Promise<void> => {
    const headers = { 'sandbox-behavior': `delay=${delayMs}` };
    const asked = { problems: {}, permissions: null };
    return behave(headers, { ...caller, tenantMode: 'sandbox', tenantId }, asked, { requestId: '' });
  };
  const hundred = Array.from({ length: 100 }, () => delayed('one', 20));
  await expect(delayed('one', 20)).rejects.toMatchObject({ code: 'dependency_unavailable' });
  await delayed('other', 20);
  await Promise.all(hundred);
  await delayed('one', 20);
});
