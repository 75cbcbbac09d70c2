import { createServer } from 'node:http';
import { drain, listen } from '../../src/http/listener/listen.js';
import { cast } from '../support/cast.js';
import { everyCase } from '../support/everyCase.js';
import { startHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { observe } from '../support/observer.js';
import { expectProblem } from '../support/refusals.js';
import { newSandbox } from '../support/sandbox.js';

// support/observer.ts checks the answers of a test's harness against the contract. Here a server sends wrong answers to
// prove that the check fails.

interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const headers = {
  'Content-Type': 'application/json; charset=utf-8',
  'X-Request-Id': '01a1f9b8-cbc0-7000-8000-00000000f00d',
  'API-Version': '1.0.5',
};
const textOf = (status: string, database: string): string => JSON.stringify({ status, database });
const ready: Sent = { status: 200, headers, text: textOf('ready', 'ok') };
const unavailable: Sent = {
  status: 503,
  headers: { ...headers, 'Retry-After': '5' },
  text: textOf('unavailable', 'failing'),
};

const faults: string[] = [];
let sent: Sent;
const server = createServer((_req, res) => {
  observe(res, faults);
  Object.assign(res, { locals: { route: { operationId: 'getReadiness', path: '/readyz' } } });
  res.statusCode = sent.status;
  for (const [name, value] of Object.entries(sent.headers)) res.setHeader(name, value);
  res.end(sent.text);
});
const url = `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}`;
afterAll(() => drain(server, 1_000));

const faultsOf = async (answer: Sent): Promise<readonly string[]> => {
  faults.length = 0;
  sent = answer;
  await (await fetch(url)).text();
  return faults;
};

it('the check of responses accepts a response that conforms to the contract', async () => {
  for (const answer of [ready, unavailable]) expect(await faultsOf(answer)).toEqual([]);
});

it('the check of responses reports a response that violates the contract', () => {
  const cases: [string, Sent, string][] = [
    ['an undeclared status', { ...ready, status: 404 }, 'getReadiness 404 is not declared'],
    [
      'a wrong member',
      { ...ready, text: '{"status":1}' },
      'getReadiness 200 breaks its schema: /status must be string',
    ],
    ['no JSON', { ...ready, text: 'ready' }, 'getReadiness 200 breaks its schema:  must be object'],
    ['a missing header', { ...unavailable, headers }, 'getReadiness 503 lacks the header Retry-After'],
    [
      'a wrong header',
      { ...unavailable, headers: { ...headers, 'Retry-After': 'soon' } },
      'getReadiness 503 has a wrong header Retry-After:  must be integer',
    ],
    [
      'another media type',
      { ...ready, headers: { ...headers, 'Content-Type': 'text/html' } },
      'getReadiness 200 is declared as application/json, not text/html',
    ],
  ];
  return everyCase(
    cases,
    ([kind]) => kind,
    async ([, answer, fault]) => {
      expect(await faultsOf(answer)).toContain(fault);
    },
  );
});

it('a sandbox answers 500 instead of sending a response that violates the contract, even with VALIDATE_RESPONSES=false', async () => {
  const lenient = await startHarness({ environment: { VALIDATE_RESPONSES: 'false' } });
  try {
    const { token } = await newSandbox(lenient);
    Object.assign(lenient.services.objects, { link: async () => 'not a URI' });
    const target = `POST /clients-documents/${cast.jane.id}/upload-url/intake-forms`;
    const url = 'https://files.northwind.example/forms/intake.pdf';
    expectProblem(await call(lenient, target, { token, json: { url } }), 500, 'internal_error');
  } finally {
    // `close` rejects after a broken response, which would hide the assertion above.
    await lenient.close().catch(() => undefined);
  }
});
