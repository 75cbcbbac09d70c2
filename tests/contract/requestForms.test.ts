import { seedCast } from '../support/cast.js';
import { exampleBody, operationOf, operations, type Schema } from '../support/contract.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { startMock, type Mock } from '../support/mock.js';

// How values are written in requests. Service and mock agree, as both read the same patterns; but the mock takes an
// empty parameter for none.

let harness: Harness;
let mock: Mock;
let token: string | undefined;
beforeAll(async () => {
  [harness, mock] = await Promise.all([startHarness(), startMock()]);
  ({ token } = await seedCast(harness));
}, 60_000);
afterAll(() => Promise.all([harness.close(), mock.stop()]));

type Send = (target: string, options?: CallOptions) => Promise<Answer>;
const service: Send = (target, options) => call(harness, target, { token, ...options });
const prism: Send = (target, options) => call(mock, target, { token: 'anything', ...options });

/** The values that are refused for their form; one that is fine may still find nothing (404). */
async function refused(values: readonly string[], send: (value: string) => Promise<Answer>): Promise<string[]> {
  const answers = await Promise.all(values.map(async (value) => [value, (await send(value)).status] as const));
  expect(answers.filter(([, status]) => ![200, 400, 404].includes(status))).toEqual([]);
  return answers.filter(([, status]) => status === 400).map(([value]) => value);
}

const createdAfter = (send: Send) => (value: string) =>
  send(`GET /encounters?created_after=${encodeURIComponent(value)}`);
const startedAt = (send: Send) => (value: string) => {
  const json = {
    ...exampleBody(operationOf('submitReview')),
    visit: { startedAt: value, endedAt: '2999-12-31T23:59:59Z' },
  };
  return send('POST /encounters/999999/review', { json });
};

it('a date-time has one rule in query and body, that of RFC 3339 (service and mock)', async () => {
  const valid = [
    '2026-11-20T15:30:00Z',
    '2026-11-20t15:30:00z',
    '2026-11-20T15:30:00+05:30',
    '2026-11-20T15:30:00-00:00',
    '2026-11-20T15:30:00.5Z',
    `2026-11-20T15:30:59.${'9'.repeat(20)}Z`,
    `2026-11-20T15:30:00.${'0'.repeat(79)}Z`,
    '2016-12-31T23:59:60Z',
    `2016-12-31T23:59:60.${'9'.repeat(20)}+00:00`,
    '2028-02-29T00:00:00Z',
  ];
  const malformed = [
    '',
    '2026-11-20',
    '2026-11-20T15:30:00',
    '2026-11-20 15:30:00Z',
    '2026-11-20T15:30:00 Z',
    ' 2026-11-20T15:30:00Z',
    '2026-11-20T15:30:00Z\n',
    '2026-11-20T15:30:00+0000',
    '2026-11-20T15:30:00+00',
    '2026-11-20T15:30:00+24:00',
    '2026-11-20T15:30:00+05:60',
    '2026-11-20T15:30Z',
    '2026-11-20T15:30:00.Z',
    '2026-11-20T15:30:00,5Z',
    '2026-11-20T24:00:00Z',
    '2026-11-20T15:60:00Z',
    '2026-11-20T15:30:60Z',
    '2026-11-20T15:30:61Z',
    '2026-02-30T15:30:00Z',
    '2027-02-29T15:30:00Z',
    '2026-13-01T15:30:00Z',
    '20261120T153000Z',
    '+002026-11-20T15:30:00Z',
    '2026-11-20T15:30:00Z[UTC]',
    `2026-11-20T15:30:00.${'0'.repeat(80)}Z`,
  ];
  // Prism knows a leap second by its local time only.
  const leapAtOffset = '1990-12-31T15:59:60-08:00';
  const all = [...valid, leapAtOffset, ...malformed];
  for (const place of [createdAfter, startedAt]) expect(await refused(all, place(service))).toEqual(malformed);
  expect(await refused([...valid, ...malformed], startedAt(prism))).toEqual(malformed);
  const [, ...sent] = malformed;
  expect(await refused([...valid, ...sent], createdAfter(prism))).toEqual(sent);
});

it('an e-mail is an ASCII address whose domain has a dot (service and mock)', async () => {
  const valid = ['a@b.co', 'Jane.Miller+x@mail-1.example.com', "!#$%&'*+/=?^_`{|}~-@example.com"];
  const malformed = [
    'a@localhost',
    'a@b.',
    'a@.b',
    'a@b..co',
    'a@-b.co',
    'a@b-.co',
    '.a@b.co',
    'a..b@c.co',
    'a@b@c.co',
    '"a b"@c.co',
    'ä@b.co',
    'a@bü.co',
    'a@[127.0.0.1]',
    ' a@b.co',
    'a@b.co\n',
    'a b@c.co',
  ];
  const [parameter] = operationOf('findPatients').parameters;
  const pattern = new RegExp(parameter?.schema.pattern ?? '', 'u');
  expect([...valid, ...malformed].filter((value) => !pattern.test(value))).toEqual(malformed);
  for (const send of [service, prism]) {
    const find = (value: string) => send(`GET /clients?email=${encodeURIComponent(value)}`);
    expect(await refused([...valid, ...malformed], find)).toEqual(malformed);
  }
});

it('an idempotency key has 1 to 255 printable ASCII characters, in quotation marks or not (service and mock)', async () => {
  const valid = ['k', 'a key, "of" words', 'k'.repeat(255), '"k"', `"${'k'.repeat(255)}"`, 'k"', '"', '"k'];
  const malformed = ['""', 'k'.repeat(256), `"${'k'.repeat(256)}"`, 'ké', 'k\tk'];
  const claim = (send: Send) => (key: string) =>
    send('POST /encounters/999999/claim', {
      headers: { 'Idempotency-Key': key },
      json: exampleBody(operationOf('claimEncounter')),
    });
  expect(await refused([...valid, ...malformed, ''], claim(service))).toEqual([...malformed, '']);
  expect(await refused([...valid, ...malformed], claim(prism))).toEqual(malformed);
});

it('a list in the query is sent with commas or in a parameter each (service and mock)', async () => {
  for (const send of [service, prism]) {
    const list = (query: string) => send(`GET /events?${query}`);
    const valid = ['types=order.paid', 'types=order.paid,order.created', 'types=order.paid&types=order.created'];
    const malformed = ['types=order.paid,order.payed', 'types=order.paid&types=order.payed'];
    expect(await refused([...valid, ...malformed], list)).toEqual(malformed);
  }
});

/** The schema itself and all that is in it. */
const within = (schema: Schema): Schema[] => [
  schema,
  ...Object.values(schema)
    .filter((part) => typeof part === 'object' && part !== null)
    .flatMap(within),
];

it('no body of a request has a default: generated types would make its field required', () => {
  const faults = operations.filter(({ requestBody }) =>
    Object.values(requestBody?.content ?? {}).some(({ schema }) => within(schema).some((part) => 'default' in part)),
  );
  expect(faults.map(({ operationId }) => operationId)).toEqual([]);
});
