import { newPartner, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem, tokenWithout, unauthenticated, withoutDatabase, withoutTable } from '../support/refusals.js';
import { newSandbox, setClock } from '../support/sandbox.js';

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newSandbox(harness);
});
afterAll(() => harness.close());

const getClock = ({ token }: { readonly token: string | undefined } = partner): Promise<Answer> =>
  call(harness, 'GET /sandbox/clock', { token });

describe('200', () => {
  it('is real time in a new sandbox', async () => {
    const { status, headers, body } = await getClock();
    expect([status, body]).toEqual([200, { now: harness.clock.now.toISOString(), offsetSeconds: 0 }]);
    expect(headers.get('Cache-Control')).toBe('no-store');
  });

  it('goes on with real time, as far ahead as it was set', async () => {
    await setClock(harness, partner, 3600);
    harness.clock.advance(60);
    const now = new Date(harness.clock.now.getTime() + 3_600_000).toISOString();
    expect((await getClock()).body).toEqual({ now, offsetSeconds: 3600 });
  });

  it('is each sandbox’s own', async () => {
    await setClock(harness, partner, 7200);
    expect((await getClock(await newSandbox(harness))).body).toMatchObject({ offsetSeconds: 0 });
  });
});

describe('400', () => {
  it('refuses a query, which the contract does not know', async () => {
    const answer = await call(harness, 'GET /sandbox/clock?zone=UTC', { token: partner.token });
    expectProblem(answer, 400, 'validation_failed', [{ parameter: 'zone' }]);
  });
});

describe('401', () => {
  it.each(unauthenticated)('refuses %s', async (_what, tokenOf, code) => {
    expectProblem(await getClock({ token: await tokenOf(harness, partner) }), 401, code);
  });
});

describe('403', () => {
  it('refuses a token without sandbox:simulate', async () => {
    const token = await tokenWithout(harness, partner, 'sandbox:simulate');
    expectProblem(await getClock({ token }), 403, 'insufficient_permission');
  });

  it('refuses a live tenant, whatever its token permits', async () => {
    expectProblem(await getClock(await newPartner(harness)), 403, 'sandbox_only');
  });
});

describe('500', () => {
  it('tells nothing of what went wrong', async () => {
    expectProblem(await withoutTable(harness, 'tenant', () => getClock()), 500, 'internal_error');
  });
});

describe('503', () => {
  it('asks to come back when the database is down', async () => {
    const answer = await withoutDatabase(harness, () => getClock());
    expectProblem(answer, 503, 'dependency_unavailable');
    expect(answer.headers.get('Retry-After')).toBe('5');
  });
});
