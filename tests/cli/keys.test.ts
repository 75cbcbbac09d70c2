import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rowsOf } from '../support/migrations.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { runJson, runProgram } from './runProgram.js';

let folder = '';
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ces-keys-'));
});

afterEach(() => rm(folder, { recursive: true }));

async function kids(file: string): Promise<string[]> {
  const { keys } = JSON.parse(await readFile(file, 'utf8')) as { keys: { kid: string }[] };
  return keys.map(({ kid }) => kid);
}

it('keys rotate keeps the previous key, refuses to drop a key whose tokens may be valid, and drops it with --force', async () => {
  const environment = { DATABASE_URL: database.url, DATA_DIR: folder };
  const file = join(folder, 'signing-keys.json');
  const rotate = async (...args: string[]) =>
    (await runJson(environment, 'keys', 'rotate', ...args)) as { kid: string; retired: string[] };
  const first = await rotate();
  const second = await rotate();
  expect([first.retired, second.retired]).toEqual([[], []]);
  expect(await kids(file)).toEqual([second.kid, first.kid]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);

  const refused = await runProgram(environment, 'keys', 'rotate', '--json');
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--force') });
  expect(await kids(file)).toEqual([second.kid, first.kid]);

  const third = await rotate('--force');
  expect(third.retired).toEqual([first.kid]);
  expect(await kids(file)).toEqual([third.kid, second.kid]);
  const rows = await rowsOf(database.url, 'SELECT operation_id AS name, outcome FROM audit_event ORDER BY position');
  const row = (outcome: string) => ({ name: 'keys rotate', outcome });
  expect(rows).toEqual([row('success'), row('success'), row('failed'), row('success')]);
});

it('keys rotate writes the file of SIGNING_KEYS_FILE, and prints no private key', async () => {
  const file = join(folder, 'own.json');
  const { code, stdout } = await runProgram(
    { DATABASE_URL: database.url, DATA_DIR: join(folder, 'data'), SIGNING_KEYS_FILE: file },
    'keys',
    'rotate',
  );
  const [kid = ''] = await kids(file);
  expect(code).toBe(0);
  expect(stdout).toContain(kid);
  const {
    keys: [key],
  } = JSON.parse(await readFile(file, 'utf8')) as { keys: { d: string; x: string }[] };
  expect(stdout).not.toContain(key?.d);
});
