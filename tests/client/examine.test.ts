import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { examine, type Report } from '../../src/client/bin/examine.js';
import { temporaryFolder } from '../support/folder.js';
import { installClient } from '../support/packedClient.js';
import { startReceiver, type Received } from '../support/receiver.js';

// The command `examine` of the client against receivers on loopback; its options and exit codes in the packed program.

type Respond = (webhook: Received, response: ServerResponse) => unknown;

const folder = temporaryFolder();
const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
let respond: Respond;
const receiver = await startReceiver((webhook, response) => respond(webhook, response));

const program = join(await installClient(folder()), 'bin/main.js');
afterAll(() => receiver.close());

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [program, ...args], { env }, (_error, output, errors) =>
      resolve({ code: Number(child.exitCode), output, errors }),
    );
  });

const command = ['examine', receiver.url('/hooks'), '--secret', secret];

const report = (): Promise<Report> => examine(receiver.url('/hooks'), secret);

interface Event {
  readonly type: string;
  readonly timestamp: string;
}

/** The signature of a webhook, computed without the client's code. */
function rightSignature({ headers, body }: Received, text = body): string {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${text}`;
  const key = Buffer.from(secret.slice(6), 'base64');
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}
const signaturesOf = ({ headers }: Received): string[] => String(headers['webhook-signature'] ?? '').split(' ');
const isSigned = (webhook: Received): boolean => signaturesOf(webhook).includes(rightSignature(webhook));
const isRecent = ({ headers }: Received): boolean =>
  Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp'])) < 300;
const eventOf = ({ body }: Received): Event => JSON.parse(body) as Event;
const ageOf = (webhook: Received): number => Date.now() - Date.parse(eventOf(webhook).timestamp);
/** Whether the whole signature is wrong, and the body is formatted as usual. */
const isForged = (webhook: Received): boolean =>
  signaturesOf(webhook).every(
    (one) => one.length === 47 && one.slice(0, 12) !== rightSignature(webhook).slice(0, 12),
  ) && webhook.body === JSON.stringify(eventOf(webhook));

/** Responds 400 to a webhook that fails a test. */
const accepting =
  (...tests: readonly ((webhook: Received) => boolean)[]): Respond =>
  (webhook, response) =>
    response.writeHead(tests.every((test) => test(webhook)) ? 204 : 400).end();
/** A receiver that verifies webhooks, and refuses those that fail another test. */
const verifying = (test: (webhook: Received) => boolean): Respond => accepting(isSigned, isRecent, test);

const correct: Readonly<Record<string, Respond>> = {
  'its own code': accepting(isSigned, isRecent),
  'the library standardwebhooks': accepting((webhook) => {
    try {
      new Webhook(secret).verify(webhook.body, webhook.headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  }),
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
    'accepts a wrong signature of a new event',
    () => accepting(isRecent, (webhook) => isSigned(webhook) || (isForged(webhook) && ageOf(webhook) < 30_000)),
    'rejects_wrong_signature',
  ],
  [
    'accepts a wrong signature of an older event',
    () => accepting(isRecent, (webhook) => isSigned(webhook) || (isForged(webhook) && ageOf(webhook) > 30_000)),
    'rejects_changed_body',
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
    () => (_webhook, response) => response.writeHead(307, { location: '/other' }).end(),
    'does_not_redirect',
    'accepts_valid_event',
  ],
  ['refuses every event', () => accepting(() => false), 'accepts_valid_event'],
  [
    'refuses events that are older than an earlier one by a minute',
    () => {
      let latest = 0;
      return verifying((webhook) => {
        const time = Date.parse(eventOf(webhook).timestamp);
        const isLate = time < latest - 50_000 && time > latest - 1_000_000;
        latest = Math.max(latest, time);
        return !isLate;
      });
    },
    'accepts_reordered_events',
  ],
  [
    'compares the time of an event with the clock',
    () => verifying((webhook) => ageOf(webhook) < 300_000),
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
  ['closes the connection', () => (_webhook, response) => response.destroy(), 'responds_in_time'],
];

it.each(Object.entries(correct))(
  'examine passes all checks of a correct receiver that verifies with %s',
  async (_name, receive) => {
    respond = receive;
    const count = receiver.received.length;
    const { checks, ...sums } = await report();
    expect(sums).toEqual({ url: receiver.url('/hooks'), passed: 17, failed: 0, not_judged: 0 });
    expect(checks.filter(({ outcome, remedy }) => outcome !== 'passed' || remedy !== null)).toEqual([]);
    expect(receiver.received.length - count).toBe(19);
  },
);

it.each(broken)(
  'examine reports exactly the failed checks of a receiver that %s',
  async (_name, receive, ...faults) => {
    respond = receive();
    const { failed, checks } = await report();
    expect(checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name)).toEqual(faults);
    expect(failed).toBe(faults.length);
    expect(checks.filter(({ outcome, remedy }) => (outcome === 'passed') !== (remedy === null))).toEqual([]);
  },
);

it('each check of examine fails for at least one of the broken receivers above', async () => {
  respond = accepting();
  const { checks } = await report();
  expect(new Set(broken.flatMap(([, , ...faults]) => faults))).toEqual(new Set(checks.map(({ name }) => name)));
});

it('examine judges only the first three checks of a receiver that refuses a valid event', async () => {
  respond = accepting(() => false);
  const { passed, failed, not_judged, checks } = await report();
  expect([passed, failed, not_judged]).toEqual([2, 1, 14]);
  expect(checks[2]).toMatchObject({ name: 'accepts_valid_event', seen: [{ httpStatus: 400, error: null }] });
});

it('examine does not judge whether a receiver rejects a request to which it does not respond', async () => {
  respond = (webhook, response) => (isSigned(webhook) ? response.writeHead(204).end() : response.destroy());
  const { passed, checks } = await report();
  const notJudged = checks.filter(({ outcome }) => outcome === 'not_judged').map(({ name }) => name);
  expect(notJudged).toEqual([...forgeries, ...otherBodies]);
  // The check rejects_old_timestamp fails, because its request is signed.
  expect(passed).toBe(11);
});

it('examine --json prints the report, and ends with code 0 if all checks passed', async () => {
  respond = accepting(isSigned, isRecent);
  const { code, output } = await run([...command, '--json']);
  expect([code, JSON.parse(output)]).toMatchObject([0, { passed: 17 }]);
});

it('examine prints a line for each check and a remedy for each that failed, never the secret, and ends with code 1', async () => {
  respond = accepting(isSigned);
  const { code, output, errors } = await run(['examine', receiver.url('/hooks')], { WEBHOOK_SECRET: secret });
  expect([code, errors]).toEqual([1, '']);
  const lines = output.trimEnd().split('\n');
  expect(lines).toHaveLength(19);
  expect(lines.at(-1)).toBe('16 passed, 1 failed, 0 not judged.');
  expect(output).toMatch(/failed +rejects_old_timestamp +204 in \d+ ms\n +Respond 400 to a `webhook-timestamp`/);
  expect(output).not.toContain(secret);
});

it.each([
  ['without a URL', ['examine', '--secret', secret], 'needs the http(s) URL'],
  ['with a path for a URL', ['examine', '/hooks', '--secret', secret], 'needs the http(s) URL'],
  ['without a secret', ['examine', receiver.url('/')], 'the secret with which the receiver'],
  ['with a second URL', ['examine', receiver.url('/'), receiver.url('/'), '--secret', secret], 'Give one command'],
  ['with an unknown option', [...command, '--quiet'], "Unknown option '--quiet'"],
])('examine ends with code 2 %s, and sends no request', async (_name, args, message) => {
  const count = receiver.received.length;
  const { code, output, errors } = await run(args);
  expect([code, output]).toEqual([2, '']);
  expect(errors).toContain(message);
  expect(receiver.received).toHaveLength(count);
});
