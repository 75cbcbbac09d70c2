import { generateKeyPairSync } from 'node:crypto';
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSigningKeys, rotateSigningKeys } from '../../../src/adapters/tokens/signingKeys.js';
import { readConfig } from '../../../src/config.js';
import { openServices } from '../../../src/runtime/services.js';
import { newPartner, newToken } from '../../support/factories.js';
import { startHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';
import { isSignedBy, login, readToken, refresh } from '../../support/tokens.js';

const DAY = 86_400;

/** A keys file that does not exist yet. */
let file: string;
const harness = await startHarness();
const partner = await newPartner(harness);
const folder = await mkdtemp(join(tmpdir(), 'ces-keys-'));
beforeEach(async () => {
  file = join(await mkdtemp(join(folder, 'case-')), 'keys.json');
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await harness.close();
});

const rotate = (path: string, force = false): Promise<{ kid: string; retired: string[] }> =>
  rotateSigningKeys(path, { now: harness.clock.now, newId: harness.domain.newId, retireAfter: 30 * DAY, force });
const kidsIn = async (path: string): Promise<string[]> =>
  JSON.parse(await readFile(path, 'utf8')).keys.map(({ kid }: { kid: string }) => kid);
const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);
const kidOf = (token: string): unknown => readToken(token).header['kid'];

describe('a rotation while the service runs', () => {
  const listClinics = (token: string) => call(harness, 'GET /clinics', { token });
  const rotateOurs = (): Promise<{ kid: string }> => rotate(harness.services.config.signingKeysFile, true);
  const published = async () => (await call(harness, 'GET /.well-known/jwks.json')).body.keys;

  it('signs with the new key at once, keeps tokens of the previous key valid and publishes both keys', async () => {
    const before = (await login(harness, partner)).body;
    const seen = await newToken(harness, partner);
    expect((await listClinics(seen)).status).toBe(200);
    const { kid } = await rotateOurs();

    const after = (await login(harness, partner)).body;
    expect([kidOf(after.access_token), kidOf(after.refresh_token)]).toEqual([kid, kid]);
    for (const token of [seen, before.access_token, after.access_token]) {
      expect((await listClinics(token)).status).toBe(200);
    }
    const renewed = await refresh(harness, partner, before.refresh_token);
    expect([renewed.status, kidOf(renewed.body.access_token)]).toEqual([200, kid]);

    const keys = await published();
    expect(keys.map((key: { kid: string }) => key.kid)).toEqual([kid, kidOf(before.access_token)]);
    expect(isSignedBy(after.access_token, keys[0])).toBe(true);
    expect(isSignedBy(before.access_token, keys[1])).toBe(true);
  });

  it('drops the key before the previous one and refuses its tokens within 30 s, even if they are in use', async () => {
    const { access_token: token, refresh_token: refreshToken } = (await login(harness, partner)).body;
    const seen = await newToken(harness, partner);
    await rotateOurs();
    expect((await listClinics(seen)).status).toBe(200);
    await rotateOurs();
    expectProblem(await listClinics(token), 401, 'token_invalid');
    const renewal = await refresh(harness, partner, refreshToken);
    expect(renewal).toMatchObject({ status: 401, body: { error: 'invalid_grant' } });
    harness.clock.advance(30);
    expectProblem(await listClinics(seen), 401, 'token_invalid');
    expect(await published()).toHaveLength(2);
    expect((await listClinics(await newToken(harness, partner))).status).toBe(200);
  });

  it.each<[string, number, (file: string) => Promise<void>]>([
    ['missing', 0, (keysFile) => rm(keysFile)],
    ['damaged, and logs that once', 1, (keysFile) => writeFile(keysFile, '{ "keys": [')],
  ])('keeps the loaded keys when the file is %s', async (_state, warnings, change) => {
    const { signingKeysFile } = harness.services.config;
    const text = await readFile(signingKeysFile);
    await change(signingKeysFile);
    try {
      expect(await published()).toHaveLength(2);
      expect((await listClinics(await newToken(harness, partner))).status).toBe(200);
    } finally {
      await writeFile(signingKeysFile, text, { mode: 0o600 });
    }
    const logged = harness.logged.filter(({ msg }) => String(msg).startsWith('the signing keys file is damaged'));
    expect(logged).toHaveLength(warnings);
  });
});

describe('keys rotate', () => {
  it('keeps two keys, newest first, and drops the older one after its tokens have expired, or with force', async () => {
    const [first, second] = [await rotate(file), await rotate(file)];
    expect([first.retired, second.retired]).toEqual([[], []]);
    harness.clock.advance(30 * DAY - 1);
    await expect(rotate(file)).rejects.toThrow(/valid until \d{4}-\d\d-\d\dT.*--force/s);
    expect(await kidsIn(file)).toEqual([second.kid, first.kid]);
    harness.clock.advance(1);
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
      expect((await (await openSigningKeys(file, null, () => undefined)).current()).length).toBeLessThanOrEqual(2);
      reads += 1;
    }
    await rotations;
    expect(reads).toBeGreaterThan(0);
    expect(await kidsIn(file)).toHaveLength(2);
    expect(await readdir(join(file, '..'))).toEqual(['keys.json']);
  });
});

describe('the start', () => {
  const start = (environment: Record<string, string>) => {
    const { domain, services, baseUrl } = harness;
    const state = { baseUrl, isServing: true, wakeDeliveries: () => undefined };
    const config = readConfig(environment);
    return openServices({ config, domain, databaseUrl: 'postgresql://127.0.0.1/unused', log: services.log, state });
  };
  const jwk = (curve: string, changes: object = {}): object => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: curve });
    return { ...privateKey.export({ format: 'jwk' }), kid: 'one', created_at: '2026-01-01T00:00:00.000Z', ...changes };
  };
  const jwks = (...keys: unknown[]): string => JSON.stringify({ keys });

  it('creates a key that only the owner can read, and uses it again at the next start', async () => {
    const DATA_DIR = join(file, '..');
    const [first] = await (await start({ DATA_DIR })).keys.current();
    const [again] = await (await start({ DATA_DIR })).keys.current();
    expect(again.kid).toBe(first.kid);
    expect(await modeOf(join(DATA_DIR, 'signing-keys.json'))).toBe('600');
  });

  it('uses the keys of SIGNING_KEYS_FILE', async () => {
    await writeFile(file, jwks(jwk('P-256')));
    const { keys } = await start({ DATA_DIR: join(file, '..'), SIGNING_KEYS_FILE: file });
    expect((await keys.current()).map(({ kid }) => kid)).toEqual(['one']);
  });

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
    ['has two halves of different keys', () => jwks({ ...jwk('P-256'), ...{ d: (jwk('P-256') as { d: string }).d } })],
    ['has a second key that is damaged', () => jwks(jwk('P-256'), jwk('P-256', { d: 'AAAA' }))],
  ])(
    'fails when SIGNING_KEYS_FILE %s, with a message that names the file and quotes no content',
    async (_name, text) => {
      const content = text();
      if (content !== undefined) await writeFile(file, content);
      const environment = { DATA_DIR: join(file, '..'), SIGNING_KEYS_FILE: file };
      const failure: unknown = await start(environment).catch((error: unknown) => error);
      expect(String(failure)).toMatch('SIGNING_KEYS_FILE cannot be used: ');
      expect(String(failure)).toContain(file);
      expect(String(failure)).not.toMatch(/secret!|"d"/);
      expect(await readdir(join(file, '..'))).toEqual(content === undefined ? [] : ['keys.json']);
    },
  );

  it('fails when PDF_FALLBACK_FONT is no font, too', async () => {
    const environment = { DATA_DIR: join(file, '..'), PDF_FALLBACK_FONT: '/nowhere.ttf' };
    await expect(start(environment)).rejects.toThrow('PDF_FALLBACK_FONT cannot be used: ');
  });
});
