import { newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { withoutTable } from '../support/refusals.js';
import { loginBody } from '../support/tokens.js';

const harness = await openHarness();

/** The lines that the work logs. */
async function linesOf(work: () => Promise<unknown>): Promise<Record<string, unknown>[]> {
  const before = harness.logged.length;
  await work();
  return harness.logged.slice(before);
}

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

it('the log line of a request has the trace_id of a well-formed traceparent, and none for a malformed one', async () => {
  const parents: readonly [string, string | undefined][] = [
    [`00-${trace}-00f067aa0ba902b7-01`, trace],
    [`cc-${trace}-00f067aa0ba902b7-01-more`, trace],
    [`00-${trace}-00f067aa0ba902b7-01-more`, undefined],
    [`ff-${trace}-00f067aa0ba902b7-01`, undefined],
    [`00-${trace.toUpperCase()}-00f067aa0ba902b7-01`, undefined],
    [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
    [`00-${trace}-${'0'.repeat(16)}-01`, undefined],
    [`00-${trace}`, undefined],
    ['Jane Miller', undefined],
  ];
  for (const [traceparent, expected] of parents) {
    const lines = await linesOf(() => call(harness, 'GET /healthz', { headers: { traceparent } }));
    expect(lines.map(({ trace_id: id }) => id)).toEqual([expected]);
  }
});

it('the log line of a database error has its SQLSTATE and the trace_id of the request', async () => {
  const { token } = await newPartner(harness);
  const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
  const targets = { client: 'GET /clients?email=a@example.com', order: 'GET /orders/ORD-1' };
  for (const [table, target] of Object.entries(targets)) {
    const lines = await linesOf(() => withoutTable(harness, table, () => call(harness, target, { token, headers })));
    expect(lines).toMatchObject([
      { msg: 'request failed', sqlstate: '42P01', trace_id: trace },
      { msg: 'request', status: 500, trace_id: trace },
    ]);
  }
});

it('the log line of a failed login has the address of the caller, and the client_id only if that is well-formed', async () => {
  const partner = await newPartner(harness);
  for (const client_id of [partner.clientId, 'jane.miller@example.com']) {
    const [line] = await linesOf(async () => {
      const json = loginBody(partner, { client_id, client_secret: 'wrong' });
      expect((await call(harness, 'POST /oauth/token', { json })).status).toBe(401);
    });
    expect(line).toMatchObject({ level: 40, msg: 'login failed', address: expect.stringContaining('127.0.0.1') });
    expect(line?.['clientId']).toBe(client_id === partner.clientId ? client_id : undefined);
  }
  expect(JSON.stringify(harness.logged)).not.toContain('jane.miller');
});
