import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { rotateSigningKeys } from '../../../src/adapters/tokens/signingKeys.js';
import { readConfig } from '../../../src/config.js';
import { openServices } from '../../../src/runtime/services.js';
import { newPartner, newToken } from '../../support/factories.js';
import { temporaryFolder } from '../../support/folder.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { expectProblem } from '../../support/refusals.js';
import { isSignedBy, login, readToken, refresh } from '../../support/tokens.js';

const DAY = 86_400;

const harness = await openHarness();
const partner = await newPartner(harness);
const folder = temporaryFolder();

const rotate = (path: string, force = false): Promise<{ kid: string; retired: string[] }> =>
  rotateSigningKeys(path, { now: harness.clock.now, newId: harness.domain.newId, retireAfter: 30 * DAY, force });
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
    // Like chmod, which does not change the modification time, either.
    [
      'damaged without a change of its modification time, and logs that once',
      1,
      async (keysFile) => {
        const time = new Date(0);
        await utimes(keysFile, time, time);
        await published();
        await writeFile(keysFile, '{}');
        await utimes(keysFile, time, time);
      },
    ],
  ])('keeps the loaded keys when the file is %s', async (_state, warnings, change) => {
    const { signingKeysFile } = harness.services.config;
    const text = await readFile(signingKeysFile);
    const warned = () => harness.logged.filter(({ msg }) => String(msg).startsWith('SIGNING_KEYS_FILE is damaged'));
    const before = warned().length;
    await change(signingKeysFile);
    try {
      expect(await published()).toHaveLength(2);
      expect((await listClinics(await newToken(harness, partner))).status).toBe(200);
    } finally {
      await writeFile(signingKeysFile, text, { mode: 0o600 });
    }
    expect(warned()).toHaveLength(before + warnings);
  });
});

describe('the start', () => {
  const start = (environment: Record<string, string>) => {
    const { domain, services, baseUrl } = harness;
    const state = { baseUrl, isServing: true, wakeDeliveries: () => undefined };
    const config = readConfig(environment);
    return openServices({ config, domain, databaseUrl: 'postgresql://127.0.0.1/unused', log: services.log, state });
  };
  it('creates a key that only the owner can read, and uses it again at the next start', async () => {
    const DATA_DIR = folder();
    const [first] = await (await start({ DATA_DIR })).keys.current();
    const [again] = await (await start({ DATA_DIR })).keys.current();
    expect(again.kid).toBe(first.kid);
    expect((await stat(folder('signing-keys.json'))).mode & 0o777).toBe(0o600);
  });

  it('uses the keys of SIGNING_KEYS_FILE', async () => {
    const SIGNING_KEYS_FILE = folder('given.json');
    const { kid } = await rotate(SIGNING_KEYS_FILE);
    const { keys } = await start({ DATA_DIR: folder(), SIGNING_KEYS_FILE });
    expect((await keys.current()).map((key) => key.kid)).toEqual([kid]);
  });

  it('fails when SIGNING_KEYS_FILE names a missing file', async () => {
    const environment = { DATA_DIR: folder(), SIGNING_KEYS_FILE: folder('missing.json') };
    await expect(start(environment)).rejects.toThrow(/^SIGNING_KEYS_FILE cannot be used: .*missing\.json/);
  });

  it('fails when PDF_FALLBACK_FONT names a missing file', async () => {
    const environment = { DATA_DIR: folder(), PDF_FALLBACK_FONT: '/nowhere.ttf' };
    await expect(start(environment)).rejects.toThrow('PDF_FALLBACK_FONT cannot be used: ');
  });
});
