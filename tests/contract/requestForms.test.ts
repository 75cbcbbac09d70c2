import { seedCast } from '../support/cast.js';
import { exampleBody, operationOf, operations, type Schema } from '../support/contract.js';
import { startHarness } from '../support/harness.js';
import { call, type Answer, type CallOptions } from '../support/http.js';
import { startMock } from '../support/mock.js';

const [harness, mock] = await Promise.all([startHarness(), startMock()]);
const { token } = await seedCast(harness);
afterAll(() => Promise.all([harness.close(), mock.stop()]));

type Send = (target: string, options?: CallOptions) => Promise<Answer>;
const service: Send = (target, options) => call(harness, target, { token, ...options });
const prism: Send = (target, options) => call(mock, target, { token: 'anything', ...options });

/** The values that get 400; a well-formed value may still get 404. */
async function refused(values: readonly string[], send: (value: string) => Promise<Answer>): Promise<string[]> {
  const answers = await Promise.all(values.map(async (value) => [value, (await send(value)).status] as const));
  expect(answers.filter(([, status]) => ![200, 400, 404].includes(status))).toEqual([]);
  return answers.filter(([, status]) => status === 400).map(([value]) => value);
}

const createdAfter = (send: Send) => (value: string) =>
  send(`GET /encounters?created_after=${encodeURIComponent(value)}`);
const startedAt = (send: Send) => (value: string) => {
  const visit = { startedAt: value, endedAt: '2999-12-31T23:59:59Z' };
  const json = { ...exampleBody(operationOf('submitReview')), visit };
  return send('POST /encounters/999999/review', { json });
};

it('service and mock accept date-times of RFC 3339 of up to 100 characters, and refuse other forms, in query and body', async () => {
  const valid = [
    ...['2026-11-20T15:30:00Z', '2026-11-20t15:30:00z', '2026-11-20T15:30:00+05:30', '2026-11-20T15:30:00-00:00'],
    ...['2026-11-20T15:30:00.5Z', `2026-11-20T15:30:59.${'9'.repeat(20)}Z`, `2026-11-20T15:30:00.${'0'.repeat(79)}Z`],
    ...['2016-12-31T23:59:60Z', `2016-12-31T23:59:60.${'9'.repeat(20)}+00:00`, '2028-02-29T00:00:00Z'],
  ];
  const malformed = [
    ...['', '2026-11-20', '2026-11-20T15:30:00', '20261120T153000Z', '+002026-11-20T15:30:00Z'],
    ...['2026-11-20 15:30:00Z', '2026-11-20T15:30:00 Z', ' 2026-11-20T15:30:00Z', '2026-11-20T15:30:00Z\n'],
    ...['2026-11-20T15:30:00+0000', '2026-11-20T15:30:00+00', '2026-11-20T15:30:00+24:00', '2026-11-20T15:30:00+05:60'],
    ...['2026-11-20T15:30Z', '2026-11-20T15:30:00.Z', '2026-11-20T15:30:00,5Z', '2026-11-20T15:30:00Z[UTC]'],
    ...['2026-11-20T24:00:00Z', '2026-11-20T15:60:00Z', '2026-11-20T15:30:60Z', '2026-11-20T15:30:61Z'],
    ...['2026-02-30T15:30:00Z', '2027-02-29T15:30:00Z', '2026-13-01T15:30:00Z'],
    `2026-11-20T15:30:00.${'0'.repeat(80)}Z`,
  ];
  // Prism recognizes a leap second only by its local time.
  const leapAtOffset = '1990-12-31T15:59:60-08:00';
  const all = [...valid, leapAtOffset, ...malformed];
  for (const place of [createdAfter, startedAt]) expect(await refused(all, place(service))).toEqual(malformed);
  expect(await refused([...valid, ...malformed], startedAt(prism))).toEqual(malformed);
  const [, ...sent] = malformed;
  expect(await refused([...valid, ...sent], createdAfter(prism))).toEqual(sent);
});

it('service and mock accept idempotency keys of 1 to 255 printable ASCII characters, quoted or not', async () => {
  const valid = ['k', 'a key, "of" words', 'k'.repeat(255), '"k"', `"${'k'.repeat(255)}"`, 'k"', '"', '"k'];
  const malformed = ['""', 'k'.repeat(256), `"${'k'.repeat(256)}"`, 'ké', 'k\tk'];
  const json = exampleBody(operationOf('claimEncounter'));
  const claim = (send: Send) => (key: string) =>
    send('POST /encounters/999999/claim', { headers: { 'Idempotency-Key': key }, json });
  expect(await refused([...valid, ...malformed, ''], claim(service))).toEqual([...malformed, '']);
  expect(await refused([...valid, ...malformed], claim(prism))).toEqual(malformed);
});

it('service and mock accept a query list with commas or as repeated parameters', async () => {
  for (const send of [service, prism]) {
    const list = (query: string) => send(`GET /events?${query}`);
    const valid = ['types=order.paid', 'types=order.paid,order.created', 'types=order.paid&types=order.created'];
    const malformed = ['types=order.paid,order.payed', 'types=order.paid&types=order.payed'];
    expect(await refused([...valid, ...malformed], list)).toEqual(malformed);
  }
});

/** The schema and all schemas within it. */
const within = (schema: Schema): Schema[] => [
  schema,
  ...Object.values(schema)
    .filter((part) => typeof part === 'object' && part !== null)
    .flatMap(within),
];

it('no request body has a default, which would make its field required in generated types', () => {
  const faults = operations.filter(({ requestBody }) =>
    Object.values(requestBody?.content ?? {}).some(({ schema }) => within(schema).some((part) => 'default' in part)),
  );
  expect(faults.map(({ operationId }) => operationId)).toEqual([]);
});
