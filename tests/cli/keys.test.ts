import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addKnown, areKnown } from '../../src/domain/access/knownKeys.js';
import { openStage } from '../support/stage.js';
import { startServer } from '../support/serverProcess.js';
import { runProgram } from './runProgram.js';

const { db, dataDir, environment } = await openStage();

const keysIn = async (file: string): Promise<{ kid: string; d: string }[]> =>
  JSON.parse(await readFile(file, 'utf8')).keys;

it('keys rotate writes the file that SIGNING_KEYS_FILE names, and prints no private key', async () => {
  const file = join(dataDir, 'own.json');
  const { code, stdout } = await runProgram({ ...environment, SIGNING_KEYS_FILE: file }, 'keys', 'rotate');
  const [key] = await keysIn(file);
  expect([code, stdout]).toEqual([0, expect.stringContaining(key?.kid ?? 'no key')]);
  expect(stdout).not.toContain(key?.d);
});

it("a server with another installation's signing keys warns at its start, and keys rotate adds a key that the database knows", async () => {
  const context = { db, now: () => new Date() };
  await addKnown(context, [{ kid: 'of-another-server' }]);
  const server = startServer(environment);
  await server.started;
  const warned = expect.objectContaining({ msg: expect.stringMatching(/^SIGNING_KEYS_FILE has none of the keys/) });
  expect(server.logged()).toContainEqual(warned);
  const file = join(dataDir, 'signing-keys.json');
  expect(await areKnown(context, await keysIn(file))).toBe(false);

  await runProgram(environment, 'keys', 'rotate');
  expect(await areKnown(context, await keysIn(file))).toBe(true);
});
