import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openTestDatabase } from '../support/postgres.js';
import { runProgram } from './runProgram.js';

let folder = '';
const database = await openTestDatabase();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ces-keys-'));
});

afterEach(() => rm(folder, { recursive: true }));

const keysIn = async (file: string): Promise<{ kid: string; d: string }[]> =>
  JSON.parse(await readFile(file, 'utf8')).keys;

it('keys rotate writes the file that SIGNING_KEYS_FILE names, and prints no private key', async () => {
  const file = join(folder, 'own.json');
  const environment = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'data'), SIGNING_KEYS_FILE: file };
  const { code, stdout } = await runProgram(environment, 'keys', 'rotate');
  const [key] = await keysIn(file);
  expect([code, stdout]).toEqual([0, expect.stringContaining(key?.kid ?? 'no key')]);
  expect(stdout).not.toContain(key?.d);
});
