import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { patientBody } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { untilBlocked } from '../support/lockWaits.js';
import { jsonHeaders, openConnection, requestBytes } from '../support/rawHttp.js';
import { newSandbox } from '../support/sandbox.js';

const harness = await openHarness();
const sandbox = await newSandbox(harness);
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
      await untilBlocked(harness);
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
  expect(harness.logged.filter(({ msg }) => msg === 'request failed')).toEqual([]);
  stays.socket.destroy();
});
