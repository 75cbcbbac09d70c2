import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { exampleBody, operationOf, targetOf } from '../support/contract.js';
import { patientBody } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { jsonHeaders, openConnection, requestBytes } from '../support/rawHttp.js';
import { newSandbox } from '../support/sandbox.js';

const harness = await openHarness();
/** Errors that would end the process. */
const uncaught: unknown[] = [];
const note = (error: unknown): void => void uncaught.push(error);

process.on('uncaughtException', note);
const sandbox = await newSandbox(harness);
const upload = operationOf('uploadPatientDocument');
const { body } = await call(harness, targetOf(upload), { token: sandbox.token, json: exampleBody(upload) });
/** Path of a stored document. */
const link = new URL(body.userDocument.fileUrl).pathname;
afterAll(() => void process.off('uncaughtException', note));

it.each(['identity', 'gzip', 'br'])(
  'the service keeps running when a reader of /docs hangs up in the body (%s)',
  async (encoding) => {
    const closed = new Promise((resolve) => harness.server.once('request', (_req, res) => res.once('close', resolve)));
    const { socket } = await openConnection(harness);
    socket.write(requestBytes({ target: '/docs', headers: [['Accept-Encoding', encoding]] }));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause().resetAndDestroy();
    await closed;
    // One more request, so that the handlers of the hang-up have run.
    expect((await call(harness, 'GET /healthz')).status).toBe(200);
    expect(uncaught).toEqual([]);
  },
);

const failures = () => harness.logged.filter(({ msg }) => msg === 'request failed');

it.each(['/', '/docs', '/openapi.json', '/docs/guide.md', '/nowhere', 'a link to a file'])(
  'the service logs no error when the reader of %s hangs up before the response begins',
  async (route) => {
    const before = harness.logged.length;
    const closed = new Promise((resolve) => {
      harness.server.prependOnceListener('request', (req, res) => {
        res.once('close', resolve);
        req.socket.destroy();
      });
    });
    const { socket } = await openConnection(harness);
    socket.write(requestBytes({ target: route.startsWith('/') ? route : link }));
    await closed;
    expect((await call(harness, 'GET /healthz')).status).toBe(200);
    expect(harness.logged.slice(before)).toMatchObject([{ msg: 'request' }, { operationId: 'getLiveness' }]);
  },
);

const count = () => harness.domain.db.prisma.patient.count({ where: { tenantId: sandbox.tenantId } });

it('the service drops queued requests whose callers hang up, and runs the remaining ones', async () => {
  const before = await count();
  const create = () =>
    requestBytes({
      method: 'POST',
      target: '/clients',
      headers: jsonHeaders(sandbox.token),
      body: JSON.stringify(patientBody()),
    });
  const queued = async () => {
    const connection = await openConnection(harness);
    const begun = once(harness.server, 'request');
    connection.socket.write(create());
    await begun;
    return connection;
  };
  const logged = harness.logged.length;
  const lines = () => harness.logged.slice(logged).filter(({ operationId }) => operationId === 'createPatient');
  const { stays, first } = await harness.domain.db.prisma.$transaction(
    async (db) => {
      await db.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`sandbox ${sandbox.tenantId}`}, 0))`;
      // A sandbox has one slot. The first request holds it and completes although its caller hangs up.
      const first = await queued();
      await untilLocked(1);
      const gone = [await queued(), await queued(), await queued()];
      const stays = await queued();
      first.socket.destroy();
      for (const { socket } of gone) socket.destroy();
      while (lines().length < 4) await delay(10);
      return { stays, first };
    },
    { timeout: 20_000 },
  );
  expect(await stays.answer()).toMatchObject({ status: 201 });
  expect(await count()).toBe(before + 2);
  expect(await first.closed()).toEqual([]);
  expect(lines()).toMatchObject([...Array(4).fill({ status: null, aborted: true }), { status: 201 }]);
  expect(failures()).toEqual([]);
  stays.socket.destroy();
});

/** Resolves when this many sessions wait for an advisory lock. */
async function untilLocked(sessions: number): Promise<void> {
  for (;;) {
    const [row] = await harness.domain.db.prisma.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    if (row && row.count >= sessions) return;
    await delay(10);
  }
}
