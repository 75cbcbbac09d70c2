import type { RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../src/config.js';
import { partsCheck } from '../../src/runtime/readiness.js';
import { startProxy } from '../support/proxy.js';
import { startFakeClamd } from '../support/fakeClamd.js';
import { startHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { closeServer, listen } from '../support/objectStores.js';
import { createTestDatabase } from '../support/postgres.js';

const emptyBucket = '<ListBucketResult><Name>documents</Name></ListBucketResult>';
const workingStore: RequestListener = (_request, response) => void response.end(emptyBucket);
const refuse: RequestListener = (_request, response) => void response.writeHead(503).end();
let storeBehavior = workingStore;
let storeRequests = 0;
let isServing = true;

const database = await createTestDatabase();
const proxy = await startProxy(database.url);
const clamd = await startFakeClamd();
const store = await listen((request, response) => {
  storeRequests += 1;
  storeBehavior(request, response);
});
const s3 = { S3_ENDPOINT: store.origin, S3_BUCKET: 'documents', S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 's' };
const scanner = { DOCUMENT_SCANNER: 'clamav', CLAMAV_ADDRESS: clamd.setting };
const harness = await startHarness({
  databaseUrl: proxy.url,
  environment: { OBJECT_STORE: 's3', ...s3, ...scanner },
  change: (services) => Object.assign(services, { isServing: () => isServing }),
});
afterEach(async () => {
  await proxy.mend();
  storeBehavior = workingStore;
  clamd.behave(undefined);
  isServing = true;
  await answerWith(allOk);
});
afterAll(async () => {
  await harness.close();
  await Promise.all([proxy.close(), clamd.close(), closeServer(store.server)]);
  await database.drop();
});

const allOk = { database: 'ok', objectStore: 'ok', documentScanner: 'ok', disk: 'ok' };
const getReadiness = (): Promise<Answer> => call(harness, 'GET /readyz');

/** The first response with these checks: a result is cached for a second. */
async function answerWith(checks: object): Promise<Answer> {
  const giveUp = performance.now() + 15_000;
  for (;;) {
    const answer = await getReadiness();
    if (JSON.stringify(answer.body.checks) === JSON.stringify(checks)) return answer;
    if (performance.now() > giveUp) throw new Error(`It stays ${JSON.stringify(answer.body.checks)}`);
    await delay(50);
  }
}

describe('getReadiness 200', () => {
  it('answers without a token while every dependency works', async () => {
    const { status, body } = await answerWith(allOk);
    expect([status, body]).toEqual([200, { status: 'ready', checks: allOk }]);
  });

  const reported: [string, () => void, object][] = [
    ['an object store that refuses', () => (storeBehavior = refuse), { objectStore: 'failing' }],
    ['an object store that never answers', () => (storeBehavior = () => undefined), { objectStore: 'failing' }],
    ['a scanner that hangs up', () => clamd.behave((socket) => socket.destroy()), { documentScanner: 'failing' }],
    ['a scanner that never answers', () => clamd.behave(() => undefined), { documentScanner: 'failing' }],
  ];

  it.each(reported)('stays ready with %s, because only uploads need it', async (_what, fail, failing) => {
    fail();
    const { status, body } = await answerWith({ ...allOk, ...failing });
    expect([status, body.status]).toEqual([200, 'ready']);
  });

  it('checks its dependencies once for many simultaneous probes', async () => {
    const before = storeRequests;
    await Promise.all(Array.from({ length: 50 }, getReadiness));
    // There are two checks if the cached result expires in between.
    expect(storeRequests - before).toBeLessThanOrEqual(2);
  });
});

it('getReadiness reports a nearly full disk if the service stores data on it', async () => {
  const { config, objects, scanner } = harness.services;
  const parts = (changes: Partial<Config>) =>
    partsCheck(proxy.url, { objects, scanner, config: { ...config, ...changes } })();
  expect(await parts({})).toMatchObject({ disk: true });
  expect(await parts({ minFreeDisk: 1e18 })).toMatchObject({ disk: false });
  expect(await parts({ minFreeDisk: 1e18, databaseUrl: 'elsewhere' })).toMatchObject({ disk: null });
  const { checkParts } = harness.services;
  Object.assign(harness.services, { checkParts: () => parts({ minFreeDisk: 1e18 }) });
  const { status, body } = await getReadiness();
  Object.assign(harness.services, { checkParts });
  expect([status, body]).toEqual([200, { status: 'ready', checks: { ...allOk, disk: 'failing' } }]);
});

describe('getReadiness 503', () => {
  /** The body of the contract instead of a problem, with Retry-After. */
  function expectUnavailable({ status, headers, body }: Answer): void {
    expect([status, body.status]).toEqual([503, 'unavailable']);
    expect(headers.get('Content-Type')).toMatch(/^application\/json\b/);
    expect(headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
  }

  const failures: [string, () => Promise<void>][] = [
    ['is away', () => proxy.cut()],
    ['never answers', async () => proxy.hang()],
  ];

  it.each(failures)('reports the database as failing while it %s', async (_how, fail) => {
    await fail();
    expectUnavailable(await answerWith({ ...allOk, database: 'failing' }));
  });

  it('names every failing dependency', async () => {
    await proxy.cut();
    storeBehavior = refuse;
    expectUnavailable(await answerWith({ ...allOk, database: 'failing', objectStore: 'failing' }));
  });

  it('answers unavailable until the start is complete, and as soon as the process stops', async () => {
    isServing = false;
    expectUnavailable(await getReadiness());
  });
});
