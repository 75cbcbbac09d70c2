import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { packageRoot } from '../../src/packageRoot.js';
import { freePort } from '../support/mock.js';

// Runs the guide's receiver in TypeScript unchanged.

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const handled: string[] = [];

const guide = await readFile(new URL('openapi/info.md', packageRoot), 'utf8');
const [, sample = ''] = /```typescript\n([^]*?)```/.exec(guide) ?? [];
// Below node_modules, so that its import resolves.
const folder = await mkdtemp(fileURLToPath(new URL('node_modules/.sample-', packageRoot)));
const file = join(folder, 'receiver.mts');
await writeFile(file, sample);
const port = await freePort();
const receiver = spawn(process.execPath, ['--import', 'tsx', file], {
  cwd: fileURLToPath(packageRoot),
  env: { PATH: process.env['PATH'], WEBHOOK_SECRET: secret, PORT: String(port) },
  stdio: ['ignore', 'pipe', 'inherit'],
});
createInterface(receiver.stdout).on('line', (line) => handled.push(line));
await listening();
afterAll(async () => {
  if (receiver.exitCode === null && receiver.kill()) await once(receiver, 'exit');
  await rm(folder, { recursive: true });
});

async function listening(): Promise<void> {
  const responds = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  while (!(await responds())) {
    if (receiver.exitCode !== null) throw new Error('the receiver in openapi/info.md has exited; its stderr is above');
    await delay(50);
  }
}

/** The handled events, once there are this many. */
async function handledSoFar(count: number): Promise<readonly string[]> {
  while (handled.length < count && receiver.exitCode === null) await delay(20);
  return handled;
}

const body = '{"type":"order.paid","timestamp":"2026-11-20T16:10:00.000Z","data":{"order_no":"ORD-100045"}}';

/** Delivers an event as the service does; returns the status of the response. */
async function deliver(id: string, { sent = body, at = new Date(), by = [secret] } = {}): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': by.map((key) => new Webhook(key).sign(id, at, body)).join(' '),
  };
  return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: sent })).status;
}

it("the guide's receiver accepts signed events, also if only the second signature is by its secret, and handles each once", async () => {
  const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
  expect(await deliver('e1')).toBe(204);
  expect(await deliver('e1')).toBe(204);
  expect(await deliver('e2', { by: [other, secret] })).toBe(204);
  expect(await handledSoFar(2)).toEqual(['e1', 'e2'].map((id) => `${id} order.paid {"order_no":"ORD-100045"}`));
});

it("the guide's receiver answers 400 to unsigned, wrongly signed, changed and old events, and does not handle them", async () => {
  const before = [...handled];
  const other = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
  expect(await deliver('e3', { by: [other] })).toBe(400);
  expect(await deliver('e3', { by: [] })).toBe(400);
  expect(await deliver('e3', { sent: body.replace('100045', '100046') })).toBe(400);
  expect(await deliver('e3', { at: new Date(Date.now() - 600_000) })).toBe(400);
  expect(await deliver('e4')).toBe(204);
  expect(await handledSoFar(before.length + 1)).toEqual([...before, expect.stringMatching(/^e4 /)]);
});
