import {
  ApiError,
  createClient,
  knownValues,
  verifyWebhook,
  WebhookError,
  type Client,
  type ClientOptions,
} from '../../src/client/index.js';
import { Webhook } from 'standardwebhooks';
import { recordPaid } from '../support/events.js';
import { patientBody, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { newSandbox } from '../support/sandbox.js';

let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newSandbox(harness);
});
afterAll(() => harness.close());

interface Watched {
  readonly ces: Client;
  /** What was sent: method, path and key. */
  readonly sent: { readonly name: string; readonly key: string | null }[];
}

/** A client whose responses a test may replace; undefined = that of the service. */
function watched(
  respond: (name: string, nth: number) => Response | undefined = () => undefined,
  options = {},
): Watched {
  const sent: Watched['sent'] = [];
  const fetch: ClientOptions['fetch'] = async (request) => {
    const name = `${request.method} ${new URL(request.url).pathname}`;
    sent.push({ name, key: request.headers.get('Idempotency-Key') });
    const replaced = respond(name, sent.filter((one) => one.name === name).length);
    return replaced ?? globalThis.fetch(request);
  };
  const { clientId, clientSecret } = partner;
  return { ces: createClient({ baseUrl: harness.baseUrl, clientId, clientSecret, fetch, ...options }), sent };
}

const refusal = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error;
  throw new Error(`no ApiError: ${String(error)}`);
};
const problem = (status: number, code: string, headers = {}): Response =>
  Response.json({ code, detail: 'Later.' }, { status, headers });
const body = (changes = {}) => patientBody(changes) as never;
const namesOf = ({ sent }: Watched): string[] => sent.map(({ name }) => name);

it('one token serves all calls, and calls that come while it is being renewed wait for it', async () => {
  const one = watched();
  await Promise.all(Array.from({ length: 5 }, () => one.ces.get('/clinics')));
  expect(namesOf(one).filter((name) => name === 'POST /oauth/token')).toHaveLength(1);

  const ended = watched((name, nth) =>
    name === 'GET /clinics' && nth <= 3 ? problem(401, `token_${nth === 1 ? 'invalid' : 'expired'}`) : undefined,
  );
  await Promise.all(Array.from({ length: 3 }, () => ended.ces.get('/clinics')));
  expect(namesOf(ended).filter((name) => name === 'POST /oauth/token')).toHaveLength(2);
});

it('what is refused is an ApiError with the code, the fields and the request, for a token, too', async () => {
  const { ces } = watched();
  const taken = await ces.post('/clients', { body: body({ dateOfBirth: 'yesterday' }) }).catch(refusal);
  expect(taken).toMatchObject({ status: 400, code: 'validation_failed', errors: [{ pointer: '#/dateOfBirth' }] });
  expect((taken as ApiError).requestId).toMatch(/^[0-9a-f-]{36}$/);
  const wrong = watched(undefined, { clientSecret: 'wrong' });
  expect(await wrong.ces.get('/clinics').catch(refusal)).toMatchObject({ status: 401, code: 'invalid_client' });
  const html = (name: string) => (name === 'GET /clinics' ? new Response('<html>', { status: 500 }) : undefined);
  const proxy = watched(html, { retries: 0 });
  expect(await proxy.ces.get('/clinics').catch(refusal)).toMatchObject({ status: 500, code: 'unknown', body: null });
});

it('a request is sent again where that cannot do harm: with the same key, after the time that the service names', async () => {
  const passing = [
    problem(500, 'internal_error', { 'Retry-After': '0' }),
    problem(503, 'dependency_unavailable', { 'Retry-After': '0' }),
  ];
  const busy = watched((name, nth) => (name === 'POST /clients' ? passing[nth - 1] : undefined));
  const { user_id } = await busy.ces.post('/clients', { body: body() });
  const keys = busy.sent.filter(({ name }) => name === 'POST /clients').map(({ key }) => key);
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(await busy.ces.get('/clients/{id}', { params: { path: { id: user_id } } })).toMatchObject({ user_id });

  const late = watched((name) =>
    name === 'GET /clinics' ? problem(429, 'rate_limited', { 'Retry-After': '3600' }) : undefined,
  );
  expect(await late.ces.get('/clinics').catch(refusal)).toMatchObject({ code: 'rate_limited' });
  expect(namesOf(late).filter((name) => name === 'GET /clinics')).toHaveLength(1);

  const keyless = watched((name) =>
    name.endsWith('/release') ? problem(503, 'dependency_unavailable', { 'Retry-After': '0' }) : undefined,
  );
  const release = { params: { path: { encounter_id: 101_000 } }, body: { reviewerRef: 'NPI-1' } };
  expect(await keyless.ces.post('/encounters/{encounter_id}/release', release).catch(refusal)).toMatchObject({
    status: 503,
  });
  expect(namesOf(keyless).filter((name) => name.endsWith('/release'))).toHaveLength(1);

  const own = watched();
  const params = { header: { 'Idempotency-Key': 'mine' } };
  await own.ces.post('/clients', { params, body: body() });
  expect(own.sent.at(-1)?.key).toBe('mine');
});

it('a list is read to its end, by pages as by cursors, and no further than it is asked for', async () => {
  const { tenantId } = partner;
  await recordPaid(harness, { tenantId, clinicId: null }, 'ORD-101000', 120);
  const all = watched();
  const events = [];
  for await (const event of all.ces.list('/events', { types: ['order.paid'] })) events.push(event.id);
  expect(new Set(events).size).toBe(events.length);
  const { db } = harness.domain;
  expect(events.length).toBe(await db.event.count({ where: { tenantId, type: 'order_paid' } }));

  for (const path of ['/clinics', '/tenants/products'] as const) {
    const few = watched();
    const ids = [];
    for await (const { id } of few.ces.list(path, { limit: 1 })) ids.push(id);
    expect(ids.length).toBeGreaterThan(1);
    expect(new Set(ids).size).toBe(ids.length);
    const first = watched();
    for await (const { id } of first.ces.list(path, { limit: 1 })) {
      expect(id).toBe(ids[0]);
      break;
    }
    expect(namesOf(first)).toEqual(['POST /oauth/token', `GET ${path}`]);
  }
});

it('a webhook is verified as the standard has it, and the values of open vocabularies are known', async () => {
  const secret = `whsec_${Buffer.from('a secret of thirty-two bytes ...').toString('base64')}`;
  const text = JSON.stringify({
    type: 'webhook.ping',
    timestamp: '2026-11-20T16:00:00.000Z',
    data: { endpoint_id: 'x' },
  });
  const sign = (at: Date, id = 'evt'): Record<string, string> => ({
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': `v1,AAAA ${new Webhook(secret).sign(id, at, text)}`,
  });
  const now = new Date();
  expect(await verifyWebhook(secret, sign(now), text)).toEqual({ id: 'evt', event: JSON.parse(text) });
  expect((await verifyWebhook(secret, new Headers(sign(now)), text)).id).toBe('evt');
  const wrong: [string, Record<string, string>, string][] = [
    [secret, { ...sign(now), 'webhook-id': 'other' }, text],
    [secret, sign(now), `${text} `],
    [`${secret.slice(0, -8)}AAAAAAA=`, sign(now), text],
    [secret, sign(new Date(now.getTime() - 301_000)), text],
    [secret, sign(new Date(now.getTime() + 330_000)), text],
    [secret, { ...sign(now), 'webhook-signature': 'v1,%%% v2,AAAA' }, text],
    [secret, {}, text],
  ];
  for (const [known, headers, sent] of wrong)
    await expect(verifyWebhook(known, headers, sent)).rejects.toThrow(WebhookError);
  expect(knownValues['Encounter.status']).toContain('awaiting_information');
});

it('the types are those of the contract', async () => {
  const { ces } = watched();
  const check = async (): Promise<void> => {
    // @ts-expect-error there is no such path
    await ces.get('/clinic');
    // @ts-expect-error an operation of this path has another method
    await ces.put('/clinics');
    // @ts-expect-error the body lacks what is required
    await ces.post('/encounters', { body: { reviewType: 'asynchronous' } });
    // @ts-expect-error there is no such parameter
    ces.list('/clinics', { serch: 'north' });
    // @ts-expect-error a list of something is read with its parameters
    ces.list('/webhook-endpoints/{endpoint_id}/deliveries');
    // @ts-expect-error a single record is no list
    ces.list('/clients/{id}');
    const { event } = await verifyWebhook('', {}, '');
    // @ts-expect-error the data of another type
    if (event.type === 'webhook.ping') event.data.order_no = '';
  };
  expect(check).toBeInstanceOf(Function);
});
