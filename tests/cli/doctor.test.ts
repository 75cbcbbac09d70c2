import { randomUUID } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { rotateSigningKeys } from '../../src/adapters/tokens/signingKeys.js';
import { remedyFor, runChecks } from '../../src/cli/checks/check.js';
import { name as service } from '../../src/packageRoot.js';
import { tlsFiles } from '../support/tlsFiles.js';
import { afterTheFile } from '../support/fakeClamd.js';
import { listenOnLoopback } from '../support/fileHost.js';
import { temporaryFolder } from '../support/folder.js';
import { freePort } from '../support/mock.js';
import { closeServer, listen } from '../support/objectStores.js';
import { hasRedis, startRedis } from '../support/redis.js';
import { hasS3Server, startS3Server } from '../support/s3.js';
import { examine, expectFound, openInstallation, type Broken } from './installation.js';
import { runProgram } from './runProgram.js';

const [installation, redis, s3, other, older, unused, hanging] = await Promise.all([
  openInstallation(),
  hasRedis() ? startRedis() : undefined,
  hasS3Server() ? startS3Server() : undefined,
  listen((_request, response) => void response.end('{"status":"ok"}')),
  listen((_request, response) => void response.end(JSON.stringify({ service, version: '0.0.1' }))),
  freePort(),
  listen(() => undefined),
]);
const { harness, clamd } = installation;
const keysFile = `${harness.dataDir}/signing-keys.json`;
const folder = temporaryFolder();
await rotateSigningKeys(folder('other.json'), { now: new Date(), newId: randomUUID, retireAfter: 0, force: false });
const secure = createServer({ cert: tlsFiles['server.crt'], key: tlsFiles['server.key'] }, (_request, response) => {
  response.end();
});
const securePort = await listenOnLoopback(secure);
afterAll(async () => {
  for (const { server } of [other, older, hanging]) await closeServer(server);
  await Promise.all([redis?.kill(), s3?.close(), closeServer(secure)]);
  await installation.close();
});

const failures: Broken[] = [
  ['a wrong variable', 'configuration', /^PORT must be a whole number/, /configuration\.md/, { PORT: 'p-4711' }],
  ['a full disk', 'disk', /MIN_FREE_DISK is 1000000000/, /Free space/, { MIN_FREE_DISK: '1000000000' }],
  [
    'a scanner that is down',
    'scanner',
    /ECONNREFUSED/,
    /Start clamd, correct CLAMAV_ADDRESS/,
    { CLAMAV_ADDRESS: `127.0.0.1:${unused}` },
  ],
  [
    'a scanner that finds nothing',
    'scanner',
    /does not find the test file EICAR/,
    /freshclam/,
    {},
    {
      prepare: async () => clamd.behave(afterTheFile((socket) => socket.end('stream: OK\0'))),
      undo: async () => clamd.behave(undefined),
    },
  ],
  [
    'keys that others may read',
    'signing keys',
    /mode 644/,
    /chmod 600/,
    {},
    { prepare: () => chmod(keysFile, 0o644), undo: () => chmod(keysFile, 0o600) },
  ],
  [
    'a missing file of keys',
    'signing keys',
    /none\.json is missing/,
    /keys rotate/,
    { SIGNING_KEYS_FILE: '/none.json' },
  ],
  [
    'a damaged file of keys',
    'signing keys',
    /is not a JWKS/,
    /get that of the backup/,
    { SIGNING_KEYS_FILE: '/dev/null' },
  ],
  [
    'another service at BASE_URL',
    'base URL',
    /is not answered by this service/,
    /BASE_URL/,
    { BASE_URL: other.origin },
  ],
  [
    "another installation's signing keys",
    'keys of the installation',
    /The keys in .*other\.json are not those that sign/,
    /file of another server/,
    { SIGNING_KEYS_FILE: folder('other.json') },
  ],
];
const warnings: Broken[] = [
  ['a misspelt variable', 'configuration', /LOGLEVEL .* LOG_LEVEL\?/, /configuration\.md/, { LOGLEVEL: 'info' }],
  ['limits that are off', 'configuration', /RATE_LIMIT=off/, /configuration\.md/, { RATE_LIMIT: 'off' }],
  [
    'a server that is down',
    'base URL',
    /gave no HTTP response: .*ECONNREFUSED/,
    /Start the server/,
    { BASE_URL: `http://127.0.0.1:${unused}` },
  ],
  ['a server of another version', 'base URL', /runs 0\.0\.1/, /Restart the server/, { BASE_URL: older.origin }],
  [
    'a server whose certificate comes from a private authority',
    'base URL',
    /unable to verify the first certificate/,
    /NODE_EXTRA_CA_CERTS/,
    { BASE_URL: `https://localhost:${String(securePort)}` },
  ],
  [
    'a proxy that hides the addresses of callers',
    'base URL',
    /TRUSTED_PROXIES=0 .* share its address/,
    /Set TRUSTED_PROXIES/,
    { BASE_URL: `https://localhost:${String(securePort)}` },
  ],
  ['plain HTTP', 'base URL', /plain HTTP/, /https/, { BASE_URL: harness.baseUrl.replace('127.0.0.1', '0.0.0.0') }],
];

describe('doctor', () => {
  it.each(failures)('reports %s with its remedy', (...row) => expectFound(installation, 'failure', row));
  it.each(warnings)('warns of %s, with its remedy', (...row) => expectFound(installation, 'warning', row));

  it('prints a table with remedies, and names the checks that fail on standard error', async () => {
    const environment = { ...installation.environment, MIN_FREE_DISK: '1000000000' };
    const { code, stdout, stderr } = await runProgram(environment, 'doctor');
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'Failed: disk. See the remedies of these checks.\n' });
    expect(stdout).toMatch(/^failure {2}disk .*\n +→ Free space/m);
    expect(stdout).toMatch(/^ok {7}scanner .*EICAR/m);
  });

  it('reports only the disk when DATA_DIR is not writable', async () => {
    const { code, faults } = await examine(installation, { DATA_DIR: '/dev/null/data' });
    expect(code).toBe(1);
    expect(faults.map(({ check }) => check)).toEqual(['disk']);
  });

  it('reports a file that its user may not read with the remedy for that, not that of the check', async () => {
    const run = () => Promise.reject(new Error("EACCES: permission denied, open '/data/signing-keys.json'"));
    const findings = await runChecks([{ name: 'signing keys', remedy: 'Restore the file.', run }]);
    expect(findings).toMatchObject([{ remedy: expect.stringMatching(/let this user use the file/) }]);
  });

  it.each(['self-signed certificate', 'unable to verify the first certificate', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'])(
    'reports the untrusted certificate of any program, here "%s", with the remedy for that',
    (cause) => expect(remedyFor(cause, 'Start it.')).toMatch(/^Set NODE_EXTRA_CA_CERTS/),
  );

  it('reports a check that exceeds its time limit as a failure with its remedy, without waiting for it', async () => {
    const run = () => new Promise<never>(() => undefined);
    const message = 'There is no answer within 0.01 s.';
    expect(await runChecks([{ name: 'scanner', remedy: 'Start clamd.', timeoutMs: 10, run }])).toEqual([
      { check: 'scanner', level: 'failure', message, remedy: 'Start clamd.' },
    ]);
  });
});

(redis ? describe : describe.skip)('doctor with Redis', () => {
  it('doctor finds no fault with a Redis that answers', async () => {
    const { faults } = await examine(installation, { RATE_LIMIT_REDIS_URL: redis?.url ?? '' });
    expect(faults).toEqual([]);
  });

  it.each([
    [
      'a wrong password of Redis',
      () => redis?.url.replace('//', '//ces:4711@'),
      /WRONGPASS/,
      /^Correct the user and pass/,
    ],
    ['Redis that is down', () => `redis://:4711@127.0.0.1:${unused}`, /ECONNREFUSED/, /Start Redis/],
  ] as const)('doctor reports %s as a failure', async (title, url, message, remedy) => {
    const environment = { RATE_LIMIT_REDIS_URL: url() ?? '' };
    await expectFound(installation, 'failure', [title, 'redis', message, remedy, environment]);
  });
});

(s3 ? describe : describe.skip)('doctor with S3', () => {
  it.each([
    ['a missing S3 bucket', { S3_BUCKET: 'missing' }, /S3_BUCKET does not exist/],
    ['an unknown S3 access key', { S3_ACCESS_KEY: 'test:nobody' }, /S3_ACCESS_KEY/],
    ['a wrong S3 secret key', { S3_SECRET_KEY: 'wrong-4711' }, /S3_SECRET_KEY/],
    ['a wrong S3 region', { S3_REGION: 'elsewhere' }, /S3_REGION/],
    ['an S3 store that is down', { S3_ENDPOINT: `http://127.0.0.1:${unused}` }, /ECONNREFUSED/],
    ['an S3 store that hangs', { S3_ENDPOINT: hanging.origin }, /ETIMEDOUT/],
  ])('doctor reports %s and names its cause', async (_title, change, message) => {
    const { code, faults, printed } = await examine(installation, { ...s3?.environment, ...change });
    const text = (pattern: RegExp): unknown => expect.stringMatching(pattern);
    const fault = { check: 'object store', level: 'failure', message: text(message), remedy: text(/S3_…/) };
    expect([code, faults]).toEqual([1, [fault]]);
    expect(printed).not.toContain('4711');
  });

  it('doctor warns of a bucket without versioning, and leaves no test object in it', async () => {
    const { code, faults } = await examine(installation, s3?.environment);
    const remedy = expect.stringMatching(/^Enable versioning/) as unknown;
    const warning = { check: 'object store', level: 'warning', message: 'The bucket keeps no versions.', remedy };
    expect({ code, faults }).toEqual({ code: 0, faults: [warning] });
    expect(await s3?.keys()).toEqual([]);
  });

  it('doctor does not report a slow S3 store as down', async () => {
    const { port } = new URL(s3?.environment['S3_ENDPOINT'] ?? '');
    const slow = await listen((received, response) => {
      const { method, url: path, headers } = received;
      const passedOn = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      void delay(1_500).then(() => received.pipe(passedOn));
    });
    const { code, faults } = await examine(installation, { ...s3?.environment, S3_ENDPOINT: slow.origin });
    await closeServer(slow.server);
    expect([code, faults]).toMatchObject([0, [{ level: 'warning', message: 'The bucket keeps no versions.' }]]);
  });
});
