import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createWebhookSender } from '../../src/adapters/webhooks/httpSender.js';
import { verifyWebhook } from '../../src/client/webhooks.js';
import { feedPage } from '../support/events.js';
import { newClient, newPartner, type Partner } from '../support/factories.js';
import { openHarness } from '../support/openHarness.js';
import { call, type Answer } from '../support/http.js';
import { startReceiver, type Received } from '../support/receiver.js';
import { expectProblem } from '../support/refusals.js';
import { newSandbox } from '../support/sandbox.js';
import { newEndpoint } from '../support/webhooks.js';

type Respond = (webhook: Received, response: ServerResponse) => unknown;

let respond: Respond;
const receiver = await startReceiver((webhook, response) => respond(webhook, response));
const { host: allowed } = receiver;
const harness = await openHarness({
  environment: { WEBHOOK_ALLOWED_HOSTS: allowed },
  // A receiver that is too slow need not cost 15 seconds.
  change: (services) =>
    Object.assign(services, { sendWebhook: createWebhookSender({ allowedHosts: [allowed], timeout: 1_000 }) }),
});
// verifyWebhook reads the real time.
harness.clock.now = new Date();
const partner = await newSandbox(harness);
const { id, secret } = await newEndpoint(harness, partner, { url: receiver.url('/') });
afterAll(() => receiver.close());

const examine = (
  endpoint_id: unknown = id,
  { token }: Pick<Partner, 'token'> = partner,
  headers = {},
): Promise<Answer> => call(harness, 'POST /sandbox/examinations', { token, json: { endpoint_id }, headers });
const patch = (json: object): Promise<Answer> =>
  call(harness, `PATCH /webhook-endpoints/${id}`, { token: partner.token, json });
/** The names of the checks with an outcome. */
const named = ({ body }: Answer, outcome: string): string[] =>
  body.checks.filter((check: Answer['body']) => check.outcome === outcome).map(({ name }: { name: string }) => name);

interface Event {
  readonly type: string;
  readonly timestamp: string;
  readonly data: object;
}

/** The signature of a webhook by a partner's own code. */
function rightSignature({ headers, body }: Received, text = body): string {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${text}`;
  return `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(signed)
    .digest('base64')}`;
}
const signaturesOf = ({ headers }: Received): string[] => String(headers['webhook-signature'] ?? '').split(' ');
const isSigned = (webhook: Received): boolean => signaturesOf(webhook).includes(rightSignature(webhook));
const isRecent = ({ headers }: Received): boolean =>
  Math.abs(harness.clock.now.getTime() / 1000 - Number(headers['webhook-timestamp'])) < 300;
const eventOf = ({ body }: Received): Event => JSON.parse(body) as Event;

/** Responds 400 to a webhook that fails a test. */
const accepting =
  (...tests: readonly ((webhook: Received) => boolean)[]): Respond =>
  (webhook, response) =>
    response.writeHead(tests.every((test) => test(webhook)) ? 204 : 400).end();
/** A receiver that verifies webhooks, and refuses those that fail another test. */
const verifying = (test: (webhook: Received) => boolean): Respond => accepting(isSigned, isRecent, test);

const correct: Readonly<Record<string, Respond>> = {
  'a plain one': accepting(isSigned, isRecent),
  'one with verifyWebhook of the client': (webhook, response) =>
    verifyWebhook(secret, webhook.headers, webhook.body).then(
      () => response.writeHead(204).end(),
      () => response.writeHead(400).end(),
    ),
  'a slow one': (webhook, response) => setTimeout(() => correct['a plain one']?.(webhook, response), 50),
};

const forgeries = ['wrong_signature', 'partial_signature', 'missing_signature'].map((name) => `rejects_${name}`);
const otherBodies = ['rejects_changed_body', 'rejects_reformatted_body'];
const broken: readonly (readonly [string, () => Respond, ...string[]])[] = [
  ['checks no signature', () => accepting(isRecent), ...forgeries, ...otherBodies],
  ['checks no timestamp', () => accepting(isSigned), 'rejects_old_timestamp'],
  [
    'compares the beginning of a signature',
    () =>
      accepting(isRecent, (webhook) =>
        signaturesOf(webhook).some((one) => one.slice(0, 12) === rightSignature(webhook).slice(0, 12)),
      ),
    'rejects_partial_signature',
  ],
  [
    'verifies the parsed body',
    () =>
      accepting(isRecent, (webhook) =>
        signaturesOf(webhook).includes(rightSignature(webhook, JSON.stringify(eventOf(webhook)))),
      ),
    'rejects_reformatted_body',
  ],
  ['responds 204 to everything', () => accepting(), ...forgeries, 'rejects_old_timestamp', ...otherBodies],
  [
    'accepts a request without signature',
    () => accepting(isRecent, (webhook) => !('webhook-signature' in webhook.headers) || isSigned(webhook)),
    'rejects_missing_signature',
  ],
  [
    'compares only the first signature',
    () => accepting(isRecent, (webhook) => signaturesOf(webhook)[0] === rightSignature(webhook)),
    'accepts_second_signature',
  ],
  [
    'refuses duplicates',
    () => {
      const done = new Set<unknown>();
      return verifying(({ headers }) => !done.has(headers['webhook-id']) && done.add(headers['webhook-id']).size > 0);
    },
    'accepts_duplicate',
  ],
  [
    'refuses unknown types',
    () => verifying((webhook) => /^(encounter|gfe|order|webhook)\./.test(eventOf(webhook).type)),
    'accepts_unknown_type',
  ],
  [
    'refuses unknown fields',
    () => verifying((webhook) => Object.keys(eventOf(webhook)).length === 3),
    'accepts_unknown_fields',
  ],
  [
    'redirects',
    () => (_webhook, response) => response.writeHead(307, { location: '/hooks' }).end(),
    'does_not_redirect',
    'accepts_valid_event',
  ],
  [
    'fails on reordered events',
    () => {
      let latest = '';
      return (webhook, response) => {
        if (!isSigned(webhook) || !isRecent(webhook)) return response.writeHead(400).end();
        const { timestamp } = eventOf(webhook);
        const status = timestamp < latest ? 500 : 204;
        if (status === 204) latest = timestamp;
        return response.writeHead(status).end();
      };
    },
    'accepts_delayed_event',
    'accepts_reordered_events',
  ],
  [
    'compares the time of an event with the clock',
    () => verifying((webhook) => harness.clock.now.getTime() - Date.parse(eventOf(webhook).timestamp) < 300_000),
    'accepts_delayed_event',
  ],
  [
    'refuses denials',
    () => verifying((webhook) => eventOf(webhook).type !== 'encounter.denied'),
    'accepts_late_denial',
  ],
  [
    'refuses revocations',
    () => verifying((webhook) => eventOf(webhook).type !== 'gfe.revoked'),
    'accepts_revoked_approval',
  ],
  ['is too slow', () => () => undefined, 'responds_in_time'],
];

describe('examineWebhookEndpoint 200', () => {
  it.each(Object.entries(correct))('reports no failed check for a correct receiver: %s', async (_name, receive) => {
    respond = receive;
    const { status, body } = await examine();
    expect(status).toBe(200);
    expect(body).toMatchObject({ endpoint_id: id, passed: 17, failed: 0, not_judged: 0 });
    expect(body.checks.every(({ remedy }: { remedy: unknown }) => remedy === null)).toBe(true);
  });

  it.each(broken)('reports the failed check of a receiver that %s', async (_name, receive, ...faults) => {
    respond = receive();
    const answer = await examine();
    expect(named(answer, 'failed')).toEqual(faults);
    expect(answer.body.failed).toBe(faults.length);
    const remedies = answer.body.checks.map((check: Answer['body']) => [
      check.outcome === 'passed',
      check.remedy === null,
    ]);
    expect(remedies.every(([isPassed, isNull]: boolean[]) => isPassed === isNull)).toBe(true);
  });

  it('reports no failed check for a receiver with the previous secret during a rotation', async () => {
    respond = accepting(isSigned, isRecent);
    await call(harness, `POST /webhook-endpoints/${id}/rotate-secret`, { token: partner.token });
    expect((await examine()).body).toMatchObject({ passed: 17, failed: 0 });
  });

  it('changes neither feed nor deliveries nor endpoint, even after a 410, and examines a disabled endpoint, too', async () => {
    const read = async (): Promise<unknown[]> => [
      await feedPage(harness, partner),
      (await call(harness, `GET /webhook-endpoints/${id}`, partner)).body,
      (await call(harness, `GET /webhook-endpoints/${id}/deliveries`, partner)).body,
    ];
    await patch({ status: 'disabled' });
    const before = await read();
    respond = (_webhook, response) => response.writeHead(410).end();
    const { body } = await examine();
    expect(body.checks[2]).toMatchObject({
      name: 'accepts_valid_event',
      outcome: 'failed',
      seen: [{ http_status: 410 }],
    });
    expect(body).toMatchObject({ passed: 2, failed: 1, not_judged: 14 });
    expect(await read()).toEqual(before);
    await patch({ status: 'active' });
  });

  it('sends no event of a type that the endpoint does not receive, and reports the checks that need it as not_judged', async () => {
    await patch({ types: ['order.created'] });
    const count = receiver.received.length;
    respond = accepting(isSigned, isRecent);
    const reorderings = ['accepts_reordered_events', 'accepts_late_denial', 'accepts_revoked_approval'];
    expect(named(await examine(), 'not_judged')).toEqual(reorderings);
    const types = new Set(receiver.received.slice(count).map((webhook) => eventOf(webhook).type));
    expect([...types]).toEqual(['webhook.ping', 'example.added_later']);
    await patch({ types: [] });
  });

  it('sends no request after 12 seconds, and reports the remaining checks as not_judged', async () => {
    const count = receiver.received.length;
    respond = (webhook, response) => {
      harness.clock.advance(4);
      return accepting(isSigned, isRecent)(webhook, response);
    };
    const answer = await examine();
    expect(receiver.received.length - count).toBe(3);
    expect(named(answer, 'passed')).toHaveLength(5);
    expect(answer.body.not_judged).toBe(12);
    expect(answer.body.checks[0].seen[0].duration_ms).toBe(4_000);
  });
});

it('examineWebhookEndpoint sends no request after the caller hangs up, and examines again for the same Idempotency-Key', async () => {
  const count = receiver.received.length;
  const request = once(harness.server, 'request') as Promise<[IncomingMessage]>;
  respond = async (webhook, response) => {
    if (receiver.received.length === count + 3) (await request)[0].socket.destroy();
    correct['a plain one']?.(webhook, response);
  };
  const key = { 'Idempotency-Key': 'hang-up' };
  await expect(examine(id, partner, key)).rejects.toThrow('fetch failed');
  // The reservation of the key ends shortly after.
  let again: Answer;
  do again = await examine(id, partner, key);
  while (again.status === 409);
  expect(again.body.passed).toBe(17);
  expect(receiver.received.length - count).toBe(3 + 19);
});

describe('examineWebhookEndpoint 400', () => {
  it('refuses an id that is not a UUID', async () => {
    expectProblem(await examine('1'), 400, 'validation_failed', [{ pointer: '#/endpoint_id' }]);
  });
});

describe('examineWebhookEndpoint 403', () => {
  it('answers sandbox_only to a live tenant, and sends no request', async () => {
    const live = await newPartner(harness);
    const endpoint = await newEndpoint(harness, live, { url: receiver.url('/live') });
    expectProblem(await examine(endpoint.id, live), 403, 'sandbox_only');
    expect(receiver.received.filter(({ path }) => path === '/live')).toEqual([]);
  });
});

describe('examineWebhookEndpoint 404', () => {
  it('answers webhook_endpoint_not_found for endpoints that the caller does not manage', async () => {
    const { id: clinicId } = await harness.domain.db.prisma.clinic.findFirstOrThrow({
      where: { tenantId: partner.tenantId },
    });
    const limited = await newClient(harness, partner.tenantId, ['sandbox:simulate'], [clinicId]);
    for (const caller of [limited, await newSandbox(harness)]) {
      expectProblem(await examine(id, caller), 404, 'webhook_endpoint_not_found');
    }
  });
});

describe('examineWebhookEndpoint 409', () => {
  it('answers idempotency_in_progress to a retry during the examination, and replays the report to a later one', async () => {
    const key = { 'Idempotency-Key': 'retry' };
    const count = receiver.received.length;
    let retry: Promise<Answer> | undefined;
    respond = async (webhook, response) => {
      await (retry ??= examine(id, partner, key));
      accepting()(webhook, response);
    };
    const { body } = await examine(id, partner, key);
    expectProblem(await (retry as Promise<Answer>), 409, 'idempotency_in_progress');
    const later = await examine(id, partner, key);
    expect([later.body, later.headers.get('Idempotent-Replayed')]).toEqual([body, 'true']);
    expect(receiver.received.length - count).toBe(19);
  });
});
