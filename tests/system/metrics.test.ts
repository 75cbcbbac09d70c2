import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { version } from '../../src/packageRoot.js';
import { patientBody } from '../support/factories.js';
import { openStage } from '../support/stage.js';
import { call } from '../support/http.js';
import { hasPromtool, promtool } from '../support/promtool.js';
import { startServer } from '../support/serverProcess.js';
import { demoToken, expectCleanExit, metricsUrlOf } from './servers.js';

const folder = join(import.meta.dirname, '../../scripts/production/monitoring');
const alerts = join(folder, 'alerts.yml');

const stage = await openStage();
const settings = { ...stage.environment, DATABASE_URL: stage.database.serviceUrl };
const server = startServer({ ...settings, METRICS_PORT: '0', DATABASE_POOL_SIZE: '1' }, '--demo');
const baseUrl = await server.started;
const url = metricsUrlOf(server);
const read = async (): Promise<string> => (await fetch(url)).text();
const before = await read();
const token = await demoToken(baseUrl, stage.dataDir);
for (let sent = 0; sent < 4; sent += 1) {
  expect((await call({ baseUrl }, 'POST /clients', { token, json: patientBody() })).status).toBe(201);
}
expect((await call({ baseUrl }, 'GET /nowhere')).status).toBe(404);
let after = before;
// The server reuses a page for a second.
for (; after === before; after = await read()) await delay(100);
/** The metrics of a server, before and after some requests. */
const pages = [before, after] as const;
expect((await fetch(new URL('/', url))).status).toBe(404);

/** The sum of a metric's values that have these labels. */
function valueOf(page: string, name: string, labels = ''): number {
  const lines = page.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.filter((line) => line.includes(labels)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

it('the metrics page counts requests, events and connections', () => {
  const growth = (name: string, labels?: string): number =>
    valueOf(pages[1], name, labels) - valueOf(pages[0], name, labels);
  const requests = 'ces_http_request_duration_seconds_count';
  expect(growth(requests, 'operation="createPatient",status="201"')).toBe(4);
  expect(growth(requests, 'operation="none",status="404"')).toBe(1);
  expect(growth('ces_events_written_total', 'type="patient.created"')).toBe(4);
  expect(valueOf(pages[1], 'ces_database_connections', 'pool="requests"')).toBeGreaterThan(0);
  expect(valueOf(pages[1], 'ces_database_connections', 'pool="jobs"')).toBeGreaterThan(0);
  expect(valueOf(pages[1], 'ces_data_dir_free_bytes')).toBeGreaterThan(0);
  expect(pages[1]).toMatch(/^ces_jobs\{state="due"\} \d+$/m);
  expect(pages[1]).toContain(`\nces_build_info{service_version="${version}",contract_version="${version}"} 1\n`);
});

(hasPromtool() ? it : it.skip)('promtool accepts the metrics and the alert rules', () => {
  expect(promtool(['check', 'metrics'], pages[1])).toBe('');
  expect(promtool(['check', 'rules', alerts])).toBe('');
});

it('dashboard, alert rules and runbooks name only existing metrics of a server, and the dashboard shows every metric of the service', () => {
  const known = [...pages[1].matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
  );
  const namesIn = (text: string): string[] => text.match(/\b(ces|nodejs|process)_\w+/g) ?? [];
  const shown = namesIn(readFileSync(join(folder, 'dashboard.json'), 'utf8'));
  const read = [alerts, join(folder, '../runbooks.md')].map((file) => readFileSync(file, 'utf8'));
  const missing = [...shown, ...read.flatMap(namesIn)].filter((name) => !known.includes(name));
  expect(missing).toEqual([]);
  expect(known.filter((name) => /^ces_(?!.*_sum$)/.test(name) && !shown.includes(name))).toEqual([]);
});

it('the metrics page is computed once for scrapes within a second, and is served even while requests use the whole connection pool', async () => {
  const blocked = await stage.db.prisma.$transaction(
    async (db) => {
      await db.$executeRaw`LOCK TABLE client`;
      const waiting = call({ baseUrl }, 'POST /clients', { token, json: patientBody() });
      const waiters = () =>
        db.$queryRaw<unknown[]>`SELECT FROM pg_locks WHERE relation = 'client'::regclass AND NOT granted`;
      while ((await waiters()).length === 0) await delay(20);
      const scrapes = [];
      // On a slow machine, two scrapes may take more than a second.
      do scrapes.push(await (await fetch(url)).text());
      while (scrapes.length < 2 || (scrapes.at(-1) !== scrapes.at(-2) && scrapes.length < 20));
      expect(scrapes.at(-1)).toBe(scrapes.at(-2));
      expect(scrapes.at(-1)).toMatch(/^ces_jobs\{state="due"\} \d+$/m);
      expect(scrapes.at(-1)).toMatch(/^ces_webhooks_waiting \d+$/m);
      return { waiting };
    },
    { timeout: 20_000 },
  );
  await blocked.waiting;
  await expectCleanExit(server);
});
