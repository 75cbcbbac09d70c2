import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addKnown, areKnown } from '../../src/domain/access/knownKeys.js';
import { openStage } from '../support/stage.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { runProgram } from './runProgram.js';

let folder = '';
const { db, database } = await openStage();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ces-keys-'));
});

afterEach(async () => {
  await killServers();
  await rm(folder, { recursive: true });
});

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

it("a server with another installation's keys says so at each start, until keys rotate adds one", async () => {
  const context = { db, now: () => new Date() };
  await addKnown(context, [{ kid: 'of-another-server' }]);
  const environment = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'data') };
  const server = startServer(environment);
  await server.started;
  const warned = expect.objectContaining({ msg: expect.stringMatching(/^SIGNING_KEYS_FILE has none of the keys/) });
  expect(server.logged()).toContainEqual(warned);
  const file = join(environment.DATA_DIR, 'signing-keys.json');
  expect(await areKnown(context, await keysIn(file))).toBe(false);

  await runProgram(environment, 'keys', 'rotate');
  expect(await areKnown(context, await keysIn(file))).toBe(true);
});
