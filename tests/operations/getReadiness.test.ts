import { setTimeout as delay } from 'node:timers/promises';
import { startProxy } from '../support/proxy.js';
import { startFakeClamd } from '../support/fakeClamd.js';
import { startHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { createTestDatabase } from '../support/postgres.js';

let isServing = true;

const database = await createTestDatabase();
const proxy = await startProxy(database.url);
const clamd = await startFakeClamd();
// Nothing listens at port 1.
const s3 = { S3_ENDPOINT: 'http://127.0.0.1:1', S3_BUCKET: 'documents', S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 's' };
const harness = await startHarness({
  databaseUrl: proxy.url,
  environment: { OBJECT_STORE: 's3', ...s3, DOCUMENT_SCANNER: 'clamav', CLAMAV_ADDRESS: clamd.setting },
  change: (services) => Object.assign(services, { isServing: () => isServing }),
});
await clamd.close();
afterEach(async () => {
  await proxy.mend();
  isServing = true;
  await answerWith('ok');
});
afterAll(async () => {
  await harness.close();
  await proxy.close();
  await database.drop();
});

const getReadiness = (): Promise<Answer> => call(harness, 'GET /readyz');

/** The first response with this state of the database: a result is cached for a second. */
async function answerWith(state: 'ok' | 'failing'): Promise<Answer> {
  const giveUp = performance.now() + 15_000;
  for (;;) {
    const answer = await getReadiness();
    if (answer.body.database === state) return answer;
    if (performance.now() > giveUp) {
      throw new Error(`After 15 s, GET /readyz answers ${answer.text}, not database "${state}": see databaseCheck`);
    }
    await delay(50);
  }
}

describe('getReadiness 200', () => {
  it('answers without a token while the database answers, although object store and scanner are down', async () => {
    const { status, body } = await answerWith('ok');
    expect([status, body]).toEqual([200, { status: 'ready', database: 'ok' }]);
  });

  it('asks the database no more than twice for 50 simultaneous probes', async () => {
    let asked = 0;
    proxy.watch((chunk, from) => {
      if (from === 'client' && chunk.includes('SELECT 1')) asked += 1;
      return null;
    });
    await Promise.all(Array.from({ length: 50 }, getReadiness));
    proxy.watch(null);
    // There are two queries if the cached result expires in between.
    expect(asked).toBeLessThanOrEqual(2);
  });
});

describe('getReadiness 503', () => {
  /** Expects a 503 whose body is not a problem but that of the contract, with Retry-After. */
  function expectUnavailable({ status, headers, body }: Answer): void {
    expect([status, body.status]).toEqual([503, 'unavailable']);
    expect(headers.get('Content-Type')).toMatch(/^application\/json\b/);
    expect(headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
  }

  const failures: [string, () => Promise<void>][] = [
    ['is unreachable', () => proxy.cut()],
    ['never answers', async () => proxy.hang()],
  ];

  it.each(failures)('reports the database as failing while it %s', async (_how, fail) => {
    await fail();
    expectUnavailable(await answerWith('failing'));
  });

  it('answers unavailable while isServing is false, as during start and stop', async () => {
    isServing = false;
    expectUnavailable(await getReadiness());
  });
});
