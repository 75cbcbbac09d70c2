import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../support/fixtures.js';
import { rowsOf } from '../support/migrations.js';
import { refusal } from './operator.js';
import { runJson, runProgram } from './runProgram.js';

let folder = '';
const database = useDatabase();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ces-keys-'));
});

afterEach(() => rm(folder, { recursive: true }));

const keysIn = async (file: string): Promise<{ kid: string; d: string }[]> =>
  JSON.parse(await readFile(file, 'utf8')).keys;
const kids = async (file: string): Promise<string[]> => (await keysIn(file)).map(({ kid }) => kid);

it('keys rotate keeps the previous key; it drops a key whose tokens may still be valid only with --force', async () => {
  const environment = { DATABASE_URL: database.url, DATA_DIR: folder };
  const file = join(folder, 'signing-keys.json');
  const rotate = (...args: string[]) => runJson(environment, 'keys', 'rotate', ...args);
  const first = await rotate();
  const second = await rotate();
  expect([first.retired, second.retired]).toEqual([[], []]);
  expect(await kids(file)).toEqual([second.kid, first.kid]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  expect(await runProgram(environment, 'keys', 'rotate', '--json')).toEqual(refusal(1, /--force/));
  expect(await kids(file)).toEqual([second.kid, first.kid]);

  const third = await rotate('--force');
  expect(third.retired).toEqual([first.kid]);
  expect(await kids(file)).toEqual([third.kid, second.kid]);
  const rows = await rowsOf(database.url, 'SELECT operation_id AS name, outcome FROM audit_event ORDER BY position');
  const row = (outcome: string) => ({ name: 'keys rotate', outcome });
  expect(rows).toEqual([row('success'), row('success'), row('failed'), row('success')]);
});

it('keys rotate writes the file that SIGNING_KEYS_FILE names, and prints no private key', async () => {
  const file = join(folder, 'own.json');
  const environment = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'data'), SIGNING_KEYS_FILE: file };
  const { code, stdout } = await runProgram(environment, 'keys', 'rotate');
  const [key] = await keysIn(file);
  expect([code, stdout]).toEqual([0, expect.stringContaining(key?.kid ?? 'no key')]);
  expect(stdout).not.toContain(key?.d);
});
