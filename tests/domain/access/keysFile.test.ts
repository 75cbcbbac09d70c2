import { generateKeyPairSync } from 'node:crypto';
import { chmod, chown, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { openSigningKeys, rotateSigningKeys } from '../../../src/adapters/tokens/signingKeys.js';
import { temporaryFolder } from '../../support/folder.js';

const DAY = 86_400;
let now = new Date('2026-11-20T16:00:00.000Z');

/** A keys file that does not exist yet. */
let file: string;
const folder = temporaryFolder();
beforeEach(async () => {
  file = join(await mkdtemp(folder('case-')), 'keys.json');
});

const rotate = (path: string, force = false): Promise<{ kid: string; retired: string[] }> =>
  rotateSigningKeys(path, { now, newId: () => v7(), retireAfter: 30 * DAY, force });
const open = () => openSigningKeys(file, null, () => undefined);
const kidsIn = async (path: string): Promise<string[]> =>
  JSON.parse(await readFile(path, 'utf8')).keys.map(({ kid }: { kid: string }) => kid);
const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

describe('keys rotate', () => {
  it('keeps two keys, newest first, and drops the older one after its tokens have expired, or with force', async () => {
    const [first, second] = [await rotate(file), await rotate(file)];
    expect([first.retired, second.retired]).toEqual([[], []]);
    now = new Date(now.getTime() + 30 * DAY * 1000 - 1);
    await expect(rotate(file)).rejects.toThrow(/valid until \d{4}-\d\d-\d\dT.*--force/s);
    expect(await kidsIn(file)).toEqual([second.kid, first.kid]);
    now = new Date(now.getTime() + 1);
    const third = await rotate(file);
    expect(third.retired).toEqual([first.kid]);
    expect(await kidsIn(file)).toEqual([third.kid, second.kid]);
    expect((await rotate(file, true)).retired).toEqual([second.kid]);
  });

  it('refuses a file without valid keys and keeps it unchanged', async () => {
    await writeFile(file, '{"keys":[{"kid":"a"}]}');
    await expect(rotate(file, true)).rejects.toThrow(file);
    expect(await readFile(file, 'utf8')).toBe('{"keys":[{"kid":"a"}]}');
  });

  it('makes the file readable only by its owner, even if it was readable by others', async () => {
    await rotate(file);
    expect(await modeOf(file)).toBe('600');
    await chmod(file, 0o644);
    await rotate(file);
    expect(await modeOf(file)).toBe('600');
  });

  const asRoot = process.getuid?.() === 0 ? it : it.skip;
  asRoot('keeps the owner of the file when root runs it, so that the service can read it', async () => {
    await rotate(file);
    await chown(file, 65_534, 65_534);
    await rotate(file);
    expect(await stat(file)).toMatchObject({ uid: 65_534, gid: 65_534 });
  });

  it('never shows a reader a partially written file, and leaves no temporary file after ten concurrent rotations', async () => {
    await rotate(file);
    let rotating = true as boolean;
    const rotations = Promise.all(Array.from({ length: 10 }, () => rotate(file, true))).finally(() => {
      rotating = false;
    });
    let reads = 0;
    while (rotating) {
      expect((await (await open()).current()).length).toBeLessThanOrEqual(2);
      reads += 1;
    }
    await rotations;
    expect(reads).toBeGreaterThan(0);
    expect(await kidsIn(file)).toHaveLength(2);
    expect(await readdir(join(file, '..'))).toEqual(['keys.json']);
  });
});

describe('a keys file', () => {
  const jwk = (curve: string, changes: object = {}): object => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: curve });
    return { ...privateKey.export({ format: 'jwk' }), kid: 'one', created_at: '2026-01-01T00:00:00.000Z', ...changes };
  };
  const jwks = (...keys: unknown[]): string => JSON.stringify({ keys });

  it.each<[string, () => string | undefined]>([
    ['is missing', () => undefined],
    ['is empty', () => ''],
    ['is not JSON', () => 'secret!'],
    ['is not an object', () => '[]'],
    ['has no list of keys', () => '{"keys":{}}'],
    ['has no key', () => jwks()],
    ['has a key that is not an object', () => jwks('secret!')],
    ['has a public key', () => jwks(jwk('P-256', { d: undefined }))],
    ['has a key of another curve', () => jwks(jwk('P-384'))],
    ['has a key without an id', () => jwks(jwk('P-256', { kid: undefined }))],
    ['has a key whose id is not a string', () => jwks(jwk('P-256', { kid: 5 }))],
    ['has a key without a time', () => jwks(jwk('P-256', { created_at: undefined }))],
    ['has a key with an invalid time', () => jwks(jwk('P-256', { created_at: 'secret!' }))],
    ['has a truncated key', () => jwks(jwk('P-256', { d: 'AAAA' }))],
    ['has a key with an invalid coordinate', () => jwks(jwk('P-256', { x: 'secret!' }))],
    ['has a key with halves of two keys', () => jwks({ ...jwk('P-256'), ...{ d: (jwk('P-256') as { d: string }).d } })],
    ['has a second key that is damaged', () => jwks(jwk('P-256'), jwk('P-256', { d: 'AAAA' }))],
  ])('is an error when it %s, with a message that names the file and quotes no content', async (_name, text) => {
    const content = text();
    if (content !== undefined) await writeFile(file, content);
    const failure: unknown = await open().catch((error: unknown) => error);
    expect(String(failure)).toMatch(/^Error: /);
    expect(String(failure)).toContain(file);
    expect(String(failure)).not.toMatch(/secret!|"d"/);
    expect(await readdir(join(file, '..'))).toEqual(content === undefined ? [] : ['keys.json']);
  });
});
