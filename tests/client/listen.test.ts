import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { WebhookEvent } from '../../src/client/index.js';
import { eventsUpTo } from '../support/events.js';
import { newPatient } from '../support/factories.js';
import { temporaryFolder } from '../support/folder.js';
import { openHarness } from '../support/harness.js';
import { installClient } from '../support/packedClient.js';
import { startReceiver } from '../support/receiver.js';
import { newSandbox } from '../support/sandbox.js';

// The program of the packed client, killed and started again while events arrive.

/** Kills, and events between them; `KILLS=20 EVENTS=100` runs more. */
const kills = Number(process.env['KILLS'] ?? 4);
const eventsPerLife = Number(process.env['EVENTS'] ?? 25);

const harness = await openHarness();
const folder = temporaryFolder();
/** The secret of the receiver. A listener gets it in WEBHOOK_SECRET. */
const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** The messages that the receiver got, and the status with which it answers the next one. */
let received: { readonly id: string; readonly type: string; readonly status: number }[] = [];
let respond: (count: number) => number = () => 204;

const program = join(await installClient(folder()), 'bin/main.js');
const receiver = await startReceiver((webhook, response) => {
  const headers = webhook.headers as Record<string, string>;
  const event = new Webhook(secret).verify(webhook.body, headers) as WebhookEvent;
  const status = respond(received.length + 1);
  received.push({ id: headers['webhook-id'] ?? '', type: event.type, status });
  response.writeHead(status).end();
});
afterAll(() => receiver.close());

beforeEach(async () => {
  received = [];
  respond = () => 204;
  await rm(folder('state'), { force: true });
});

type Credentials = Awaited<ReturnType<typeof newSandbox>>;

function start({ clientId, clientSecret }: Credentials, ...options: string[]): ChildProcess {
  const args = [program, 'listen', '--forward', receiver.url('/hooks'), '--state', folder('state'), ...options];
  const credentials = { CES_URL: harness.baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret };
  return spawn(process.execPath, args, { env: { ...credentials, WEBHOOK_SECRET: secret } });
}

/** The ids that the receiver has accepted. */
const accepted = (): string[] => received.filter(({ status }) => status === 204).map(({ id }) => id);

/** Exit code and output. */
async function ended(child: ChildProcess): Promise<[code: number | null, output: string, errors: string]> {
  const output = child.stdout ? text(child.stdout) : '';
  const errors = child.stderr ? text(child.stderr) : '';
  const [code] = (await once(child, 'exit')) as [number | null];
  return [code, await output, await errors];
}

/** The ids of the feed in its order. */
const feed = async (client: Credentials): Promise<string[]> =>
  (await eventsUpTo(harness, client, 'patient.created')).map(({ id }) => id);

it(`a listener that is killed ${kills} times forwards each event in the order of the feed, and repeats at most one per restart`, async () => {
  const partner = await newSandbox(harness);
  for (let life = 0; life <= kills; life += 1) {
    for (let count = 0; count < eventsPerLife; count += 1) await newPatient(harness, partner);
    const expected = await feed(partner);
    const isLast = life === kills;
    const reached = new Promise<void>((resolve) => {
      respond = () => {
        const known = new Set(accepted()).size + 1;
        const isEnd = known >= expected.length - (isLast ? 0 : 3);
        if (isEnd) resolve();
        // Half of the lives end before the receiver accepts an event, the others right after it has.
        return isEnd && !isLast && life % 2 === 0 ? 500 : 204;
      };
    });
    const child = start(partner, '--timeout', '60');
    const exit = once(child, 'exit');
    await Promise.race([reached, exit]);
    child.kill('SIGKILL');
    await exit;
  }
  const ids = await feed(partner);
  const sent = accepted();
  expect(sent.filter((id, index) => sent.indexOf(id) === index)).toEqual(ids);
  expect(sent.length - ids.length).toBeLessThanOrEqual(kills);
  expect((await stat(folder('state'))).mode & 0o777).toBe(0o600);
});

it('a listener sends an event again until the receiver accepts it, before any later one, and neither prints nor stores a given secret', async () => {
  const partner = await newSandbox(harness);
  const ids = await feed(partner);
  respond = (count) => (count <= 2 ? 500 : 204);
  const [code, output] = await ended(start(partner, '--until', 'order.paid', '--timeout', '60'));
  expect(code).toBe(0);
  const [first, second, ...others] = received.map(({ id }) => id);
  expect([first, second, ...others]).toEqual([ids[0], ids[0], ...ids.slice(0, others.length)]);
  expect(received.at(-1)?.type).toBe('order.paid');
  expect(output).toContain(`${ids[0]} → 500, again in 0.5 s\n`);
  expect(output + (await readFile(folder('state'), 'utf8'))).not.toContain(secret);
});

it('a listener that ended at an event continues with the next one, and ends with code 1 after --timeout', async () => {
  const partner = await newSandbox(harness);
  await ended(start(partner, '--until', 'order.held'));
  const seen = received.length;
  const [code, , errors] = await ended(start(partner, '--until', 'order.held', '--timeout', '2'));
  expect([code, errors]).toEqual([
    1,
    'Stopped after 2 s without forwarding an event order.held: check that --types, if given, includes it; cause one that CLIENT_ID may see; see that your receiver accepts all events; or raise --timeout.\n',
  ]);
  expect(received.map(({ id }) => id)).toEqual(await feed(partner));
  expect(seen).toBeLessThan(received.length);
});

it('a listener forwards only events of the requested types', async () => {
  const partner = await newSandbox(harness);
  await ended(start(partner, '--types', 'order.created,order.paid', '--until', 'order.paid'));
  expect(new Set(received.map(({ type }) => type))).toEqual(new Set(['order.created', 'order.paid']));
});

it('a listener refuses the position of another API client, wrong credentials, a --forward that is not an http URL, an unknown type after --until, and options of examine', async () => {
  const [partner, other] = [await newSandbox(harness), await newSandbox(harness)];
  await ended(start(partner, '--until', 'order.created'));
  expect(await ended(start(other))).toMatchObject([2, '', expect.stringContaining(`${partner.clientId} at`)]);
  const wrong = { ...partner, clientSecret: 'wrong' };
  expect(await ended(start(wrong))).toEqual([
    1,
    '',
    'The client credentials are not valid. Check client_id and client_secret; if both are right, ask the operator.\n',
  ]);
  expect(await ended(start(partner, '--forward', 'localhost:4000/hooks'))).toMatchObject([
    2,
    '',
    expect.stringContaining('needs an http(s) URL'),
  ]);
  expect(await ended(start(partner, '--until', 'order.payed', '--timeout', '2'))).toMatchObject([
    2,
    '',
    expect.stringMatching(/^--until needs one of these types: patient\.created, .*order\.paid, .*webhook\.disabled\. /),
  ]);
  expect(await ended(start(partner, '--json'))).toEqual([2, '', 'listen has no option --json. See --help.\n']);
});
