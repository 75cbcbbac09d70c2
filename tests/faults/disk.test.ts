import { setTimeout as delay } from 'node:timers/promises';
import { mountDisk } from '../support/disk.js';
import { call } from '../support/http.js';
import { temporaryDataDir } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { demoToken } from '../system/servers.js';
import { figure, isFull, tally } from './faults.js';
import { healedAfter, startLoad } from './load.js';

/** Enough for PostgreSQL and a little more. */
const DISK_MB = 256;
const FAILURES = isFull ? 200 : 20;

const disk = await mountDisk(DISK_MB);
if (!disk) process.stderr.write('SKIPPED: tests on a full disk, which needs the right to mount one.\n');
const data = await temporaryDataDir(disk?.path);
afterAll(async () => {
  await killServers();
  await data.remove();
  await disk?.remove();
});

const itOnDisk = disk ? it : it.skip;

itOnDisk(
  'a server answers 503 to changes and reports the disk in /readyz while the disk is full, then recovers and keeps acknowledged patients',
  async () => {
    const settings = { DATA_DIR: data.dataDir, MIN_FREE_DISK: '1', RATE_LIMIT: 'off', METRICS_PORT: '0' };
    const baseUrl = await startServer(settings, '--demo').started;
    const token = await demoToken(baseUrl, data.dataDir, 1);
    const load = startLoad(baseUrl, token);
    await healedAfter(load, Date.now());

    await disk?.fill();
    const failed = () => load.seen.filter(({ status }) => status >= 300);
    while (failed().length < FAILURES) await delay(20);
    expect(await call({ baseUrl }, 'GET /readyz')).toMatchObject({ body: { checks: { disk: 'failing' } } });
    const filledUntil = Date.now();
    await disk?.free();
    const healed = await healedAfter(load, filledUntil);
    await healedAfter(load, healed);
    const seen = await load.stop();
    const statuses = JSON.stringify(tally(seen.map(({ status }) => status)));
    figure('disk full', `${statuses}, healed after ${healed - filledUntil} ms`);

    expect(failed().filter(({ status, retryAfter }) => status !== 503 || retryAfter !== '5')).toEqual([]);
    const created = seen.flatMap(({ created: id }) => id ?? []);
    for (const id of created) expect((await call({ baseUrl }, `GET /clients/${id}`, { token })).status).toBe(200);
  },
  120_000,
);
