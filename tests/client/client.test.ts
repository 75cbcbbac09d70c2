import {
  ApiError,
  createClient,
  etagOf,
  knownValues,
  PatientMismatchError,
  type ErrorCode,
  type Client,
  type ClientOptions,
  type WebhookEvent,
} from '../../src/client/index.js';
import { collectGarbage } from '../support/collectGarbage.js';
import { newClient, patientBody } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { closeServer, listen } from '../support/objectStores.js';
import { completedEncounter } from '../support/reviews.js';
import { newSandbox } from '../support/sandbox.js';

const harness = await openHarness();
const partner = await newSandbox(harness);

interface Watched {
  readonly ces: Client;
  /** The requests: method, path and idempotency key. */
  readonly sent: { readonly name: string; readonly key: string | null }[];
}

/** A client with responses that a test may replace; undefined keeps the response of the service. */
function watched(
  respond: (name: string, nth: number) => Response | undefined = () => undefined,
  options = {},
): Watched {
  const sent: Watched['sent'] = [];
  const fetch: ClientOptions['fetch'] = async (request) => {
    const name = `${request.method} ${new URL(request.url).pathname}`;
    sent.push({ name, key: request.headers.get('Idempotency-Key') });
    const replaced = respond(name, sent.filter((request) => request.name === name).length);
    return replaced ?? globalThis.fetch(request);
  };
  const { clientId, clientSecret } = partner;
  return { ces: createClient({ baseUrl: harness.baseUrl, clientId, clientSecret, fetch, ...options }), sent };
}

const refusal = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error;
  throw new Error(`not an ApiError: ${String(error)}`);
};
const problem = (status: number, code: string, headers = {}): Response =>
  Response.json({ code, detail: 'Later.' }, { status, headers });
const body = (changes = {}) => patientBody(changes) as never;
const namesOf = ({ sent }: Watched): string[] => sent.map(({ name }) => name);

it('the client uses one token for concurrent calls, and renews it once for concurrent calls that get 401', async () => {
  const shared = watched();
  await Promise.all(Array.from({ length: 5 }, () => shared.ces.clinics.list().next()));
  expect(namesOf(shared).filter((name) => name === 'POST /oauth/token')).toHaveLength(1);

  const ended = watched((name, nth) =>
    name === 'GET /clinics' && nth <= 3 ? problem(401, `token_${nth === 1 ? 'invalid' : 'expired'}`) : undefined,
  );
  await Promise.all(Array.from({ length: 3 }, () => ended.ces.clinics.list().next()));
  expect(namesOf(ended).filter((name) => name === 'POST /oauth/token')).toHaveLength(2);
});

it('a failed call or token request rejects with an ApiError that has the code, its URL, the fields, the request id and the response', async () => {
  const { ces } = watched();
  const call = ces.patients.create({ body: body({ dateOfBirth: 'yesterday' }) });
  const wrongDate = refusal(await call.catch((error: unknown) => error));
  expect(wrongDate).toMatchObject({ status: 400, errors: [{ pointer: '#/dateOfBirth' }], retryAfter: null });
  expect(wrongDate.code satisfies ErrorCode).toBe('validation_failed');
  expect(wrongDate.docUrl).toBe(`${harness.baseUrl}/docs#/section/errors/validation_failed`);
  expect(wrongDate.requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(await wrongDate.response.json()).toEqual(wrongDate.body);
  const wrong = watched(undefined, { clientSecret: 'wrong' });
  expect(await wrong.ces.clinics.list().next().catch(refusal)).toMatchObject({ status: 401, code: 'invalid_client' });
  const html = (name: string) => (name === 'GET /clinics' ? new Response('<html>', { status: 500 }) : undefined);
  const proxy = watched(html, { retries: 0 });
  expect(await proxy.ces.clinics.list().next().catch(refusal)).toMatchObject({
    status: 500,
    code: 'unknown',
    body: null,
  });
});

it('the client retries a POST after Retry-After with the same Idempotency-Key, but no POST without a key after a 503, no GET after a 500, and no request after a long Retry-After', async () => {
  const seconds = (count: number) => ({ 'Retry-After': String(count) });
  const passing = [problem(500, 'internal_error', seconds(0)), problem(503, 'dependency_unavailable', seconds(0))];
  const busy = watched((name, nth) => (name === 'POST /clients' ? passing[nth - 1] : undefined));
  const { user_id } = await busy.ces.patients.create({ body: body() });
  const keys = busy.sent.filter(({ name }) => name === 'POST /clients').map(({ key }) => key);
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(await busy.ces.patients.get({ id: user_id })).toMatchObject({ user_id });

  const late = watched((name) => (name === 'GET /clinics' ? problem(429, 'rate_limited', seconds(3600)) : undefined));
  const limited = await late.ces.clinics.list().next().catch(refusal);
  expect(limited).toMatchObject({ code: 'rate_limited', retryAfter: 3600, docUrl: null });
  expect(namesOf(late).filter((name) => name === 'GET /clinics')).toHaveLength(1);

  const keyless = watched((name) => {
    if (name === 'POST /sandbox/reset') return problem(503, 'dependency_unavailable', seconds(0));
    return name === 'GET /clients' ? problem(500, 'internal_error', seconds(0)) : undefined;
  });
  expect(await keyless.ces.sandbox.reset().catch(refusal)).toMatchObject({ status: 503 });
  const patients = keyless.ces.patients.find({ email: 'jane@example.com' }).next().catch(refusal);
  expect(await patients).toMatchObject({ status: 500 });
  expect(namesOf(keyless).slice(1)).toEqual(['POST /sandbox/reset', 'GET /clients']);

  const own = watched();
  await own.ces.patients.create({ 'Idempotency-Key': 'mine', body: body() });
  expect(own.sent.at(-1)?.key).toBe('mine');
});

it('knownValues lists awaiting_information among the values of Encounter.status', () => {
  expect(knownValues['Encounter.status']).toContain('awaiting_information');
});

describe('patients.findOrCreate', () => {
  const jane = patientBody({ email: 'jane.find@example.com' }) as never as Parameters<
    Client['patients']['create']
  >[0]['body'];

  it('creates a patient, and returns the same patient for the same e-mail, name and birth date without a change', async () => {
    const { ces } = watched();
    const created = await ces.patients.findOrCreate({ body: jane });
    expect(created).toMatchObject({ firstName: jane.firstName, email: jane.email });
    const found = await ces.patients.findOrCreate({ body: { ...jane, phone: '5125550199' } });
    expect(found).toMatchObject(created);
    expect(found.phone).not.toBe('5125550199');
  });

  it.each([{ firstName: 'Other' }, { lastName: 'Other' }, { dateOfBirth: '2001-02-03' }])(
    'rejects with PatientMismatchError if the patient with the e-mail differs in %j',
    async (change) => {
      const { ces } = watched();
      const { user_id } = await ces.patients.findOrCreate({ body: jane });
      const error = await ces.patients
        .findOrCreate({ body: { ...jane, ...change } })
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(PatientMismatchError);
      const differs = Object.keys(change);
      expect(error).toMatchObject({ code: 'patient_email_taken', status: 409, existing_user_id: user_id, differs });
      expect((error as PatientMismatchError).agrees).toContain('phone');
      expect(refusal(error).message).toContain('another name or birth date');
    },
  );

  it('rejects with patient_email_taken if the client may not read the patient with the e-mail', async () => {
    await watched().ces.patients.findOrCreate({ body: jane });
    const { clientId, clientSecret } = await newClient(harness, partner.tenantId, ['write:client']);
    const { ces } = watched(undefined, { clientId, clientSecret });
    const error = refusal(await ces.patients.findOrCreate({ body: jane }).catch((thrown: unknown) => thrown));
    expect(error).not.toBeInstanceOf(PatientMismatchError);
    expect(error).toMatchObject({ code: 'patient_email_taken', existing_user_id: null, agrees: null, differs: null });
  });
});

it('etagOf returns the ETag of a result, for use in If-Match', async () => {
  const { ces } = watched();
  const { user_id: id } = await ces.patients.create({ body: body() });
  const patient = await ces.patients.get({ id });
  const change = (etag: string) => ces.patients.update({ id, 'If-Match': etag, body: { notes: `after ${etag}` } });
  const changed = await change(etagOf(patient));
  expect((await change(etagOf(patient)).catch(refusal)) as ApiError).toMatchObject({ code: 'version_conflict' });
  expect(await change(etagOf(changed))).toMatchObject({ user_id: id });
  expect(() => etagOf({ ...patient })).toThrow('No ETag');
});

it('the client returns a certificate as bytes', async () => {
  const { ces } = watched();
  const { encounter_id } = await completedEncounter(harness, partner);
  const file = await ces.encounters.getCertificate({ encounter_id });
  expect(file satisfies Uint8Array).toBeInstanceOf(Uint8Array);
  expect(Buffer.from(file).toString('latin1')).toMatch(/^%PDF-.*%%EOF\s*$/s);
});

it('the client accepts a base URL that ends with slashes', async () => {
  const { ces, sent } = watched(undefined, { baseUrl: `${harness.baseUrl}//` });
  await ces.clinics.list().next();
  expect(sent.map(({ name }) => name)).toEqual(['POST /oauth/token', 'GET /clinics']);
});

it('the client aborts an attempt at its timeout in spite of garbage collection, before the response and during its body', async () => {
  const { server: silent, origin: baseUrl } = await listen(({ url }, res) => {
    setTimeout(() => res.destroy(), 5_000).unref();
    setTimeout(collectGarbage, 100);
    if (url === '/oauth/token') res.end('{ "access_token": "a", "expires_in": 3600 }');
    if (url === '/orders') res.writeHead(200, { 'Content-Type': 'application/json' }).write('{');
  });
  const { ces, sent } = watched(undefined, { baseUrl, timeout: 300, retries: 1, longestWait: 0 });
  await expect(ces.clinics.list().next()).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(sent.filter(({ name }) => name === 'GET /clinics')).toHaveLength(2);
  await expect(ces.orders.list().next()).rejects.toMatchObject({ name: 'TimeoutError' });
  await closeServer(silent);
});

it('a call with an aborted signal rejects with an AbortError', async () => {
  const { ces } = watched();
  const options = { signal: AbortSignal.abort() };
  const calls = [ces.clinics.get({ id: partner.tenantId }, options), ces.clinics.list({}, options).next()];
  for (const call of calls) await expect(call).rejects.toMatchObject({ name: 'AbortError' });
});

it('the client times out after 30 s unless the program sets another timeout', async () => {
  const { timeout } = AbortSignal;
  const timeouts: number[] = [];
  AbortSignal.timeout = (milliseconds) => (timeouts.push(milliseconds), timeout.call(AbortSignal, milliseconds));
  await watched().ces.clinics.list().next();
  await watched(undefined, { timeout: 5_000 }).ces.clinics.list().next();
  AbortSignal.timeout = timeout;
  expect(timeouts).toEqual([30_000, 30_000, 5_000, 5_000]);
});

it('the compiler rejects codes that the contract does not have, JSON used as a file, and data of another event', async () => {
  const { ces } = watched();
  const check = async (): Promise<void> => {
    // @ts-expect-error there is no such code
    if (new ApiError(new Response(), null).code === 'patient_email_take') return;
    // @ts-expect-error JSON is not a file
    (await ces.clinics.get({ id: '' })) satisfies Uint8Array;
    const event = {} as WebhookEvent;
    // @ts-expect-error the data of another type
    if (event.type === 'webhook.ping') event.data.order_no = '';
  };
  expect(check).toBeInstanceOf(Function);
});
