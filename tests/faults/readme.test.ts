import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/packageRoot.js';
import { temporaryDataDir } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';

// What people paste first is run as it stands, against what `make start` starts. Its PostgreSQL is its own: in one that
// other tests use, events may be told a moment too late for a command that asks once.

/** Milliseconds; a process is started, for which a busy machine needs its time. */
const patience = 90_000;

let dataDir: string;
let remove: () => Promise<void>;
let baseUrl: string;

beforeAll(async () => {
  ({ dataDir, remove } = await temporaryDataDir());
  baseUrl = await startServer({ DATA_DIR: dataDir }).started;
}, patience);

afterAll(async () => {
  await killServers();
  await remove();
});

/** The first block of bash after a text, which only stands where it is looked for. */
async function blockAfter(file: string, text: string): Promise<string> {
  const [, rest, ...more] = (await readFile(new URL(file, packageRoot), 'utf8')).split(text);
  const [, block] = /^```bash\n(.*?)^```$/ms.exec(rest ?? '') ?? [];
  if (block === undefined || more.length > 0) throw new Error(`${file} has no one block after "${text}"`);
  return block;
}

/** Replaces a text that must be there. */
function replaced(script: string, text: string, by: string): string {
  if (!script.includes(text)) throw new Error(`"${text}" is not in the block`);
  return script.replaceAll(text, by);
}

/** Runs it so that anything that fails ends it; returns all that a terminal would show. */
async function run(script: string): Promise<string> {
  // By way of "cat", because /dev/stderr cannot be opened where it is a socket, as it is below Node.
  const shell = ['-o', 'pipefail', '-c', 'bash -euo pipefail -c "$0" 2>&1 | cat', script];
  const { stdout } = await promisify(execFile)('bash', shell);
  return stdout;
}

/** The flow of the README, for the server and the credentials of this test. */
async function flow(): Promise<string> {
  const block = await blockAfter('README.md', 'In a second terminal');
  const here = replaced(block, 'BASE_URL=http://127.0.0.1:3000', `BASE_URL=${baseUrl}`);
  return replaced(here, '.data/demo-credentials.json', join(dataDir, 'demo-credentials.json'));
}

it('the README’s flow makes a paid order, and a year later the approval has ended', async () => {
  const shown = await run(await flow());
  expect(shown).toMatch(/"email":"maria\.lopez@example\.com".*\n201\n/);
  expect(shown).toContain('"order_status":"paid"');
  for (const type of ['encounter.completed', 'order.created', 'order.paid']) {
    expect(shown).toMatch(new RegExp(`"type":"${type}","timestamp":"[^"]+","data":\\{[^}]*"ORD-101000"`));
  }
  // The line of step 9; answers end without a line's end, and the last one is empty.
  expect(shown).toMatch(/"offsetSeconds":31708800\}expired\n$/);
  expect(shown).not.toContain('urn:clinical-encounter:problem:');
}, patience);

it('the guide’s commands for the sandbox work after it', async () => {
  const [setting] = (await flow()).split('# 2.');
  const shown = await run(`${setting}\n${await blockAfter('openapi/info.md', '# The sandbox')}`);
  expect(shown).toContain('"encounter_id":100124');
  expect(shown).toContain('"type":"order.paid"');
  expect(shown).not.toContain('urn:clinical-encounter:problem:');
}, patience);
