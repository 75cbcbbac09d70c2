import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { openConnection, requestBytes } from '../support/rawHttp.js';

let harness: Harness;
/** What would end the process. */
const uncaught: unknown[] = [];
const note = (error: unknown): void => void uncaught.push(error);

beforeAll(async () => {
  process.on('uncaughtException', note);
  harness = await startHarness();
});
afterAll(async () => {
  await harness.close();
  process.off('uncaughtException', note);
});

it.each(['identity', 'gzip', 'br'])('survives a reader of /docs who hangs up in the body (%s)', async (encoding) => {
  const closed = new Promise((resolve) => harness.server.once('request', (_req, res) => res.once('close', resolve)));
  const { socket } = await openConnection(harness);
  socket.write(requestBytes({ target: '/docs', headers: [['Accept-Encoding', encoding]] }));
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause().resetAndDestroy();
  await closed;
  // After everything that the end of the response has set off.
  expect((await call(harness, 'GET /healthz')).status).toBe(200);
  expect(uncaught).toEqual([]);
});

it('logs no failure when the reader of /docs hangs up before the head of the response', async () => {
  const closed = new Promise((resolve) => {
    harness.server.once('request', (req, res) => {
      res.once('close', resolve);
      req.socket.destroy();
    });
  });
  const { socket } = await openConnection(harness);
  socket.write(requestBytes({ target: '/docs' }));
  await closed;
  expect((await call(harness, 'GET /healthz')).status).toBe(200);
  expect(harness.logged.filter(({ msg }) => msg === 'request failed')).toEqual([]);
  expect(harness.logged).toContainEqual(expect.objectContaining({ msg: 'request', status: null, aborted: true }));
});
