import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { readFile, writeFile } from 'node:fs/promises';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { packageRoot } from '../../src/packageRoot.js';
import { everyCase } from '../support/everyCase.js';
import { closeServer, listenOnLoopback } from '../support/fileHost.js';
import { temporaryFolder } from '../support/folder.js';
import { rowsOf } from '../support/migrations.js';
import { freePort } from '../support/mock.js';
import { isThere, packages } from '../support/optional.js';
import { openTestDatabase } from '../support/postgres.js';
import { hasPromtool, promtool } from '../support/promtool.js';
import { listens } from '../support/redis.js';

// The alert rules, their runbooks and their delivery.

const folder = temporaryFolder();
const production = fileURLToPath(new URL('scripts/production/', packageRoot));
const rules = `${production}monitoring/alerts.yml`;

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}
const { groups } = parse(await readFile(rules, 'utf8')) as { groups: { rules: Rule[] }[] };
const alerts = groups.flatMap((group) => group.rules).filter(({ alert }) => alert !== undefined);
const runbooks = await readFile(`${production}runbooks.md`, 'utf8');

const requests = 'ces_http_request_duration_seconds';
/** The metrics of a good installation; values grow or stay, once a minute. */
const good: Readonly<Record<string, string>> = {
  'up{job="clinical-encounter-service",instance="a"}': '1x600',
  [`${requests}_count{operation="getPatient",status="200"}`]: '0+600x600',
  [`${requests}_count{operation="getPatient",status="503"}`]: '0+1x600',
  [`${requests}_bucket{operation="getPatient",le="1"}`]: '0+601x600',
  'ces_limit_hits_total{limit="tenant"}': '0+1x600',
  'nodejs_eventloop_lag_p99_seconds{instance="a"}': '0.01x600',
  'ces_database_waiting{instance="a",pool="requests"}': '0x600',
  'pg_stat_activity_count{instance="db",state="active"}': '20x600',
  'pg_settings_max_connections{instance="db"}': '100x600',
  'pg_replication_lag_seconds{instance="db"}': '1x600',
  'pg_replication_slots_active{instance="db",slot_name="s"}': '1x600',
  'pg_replication_slots_pg_wal_lsn_diff{instance="db",slot_name="s"}': '0x600',
  'ces_backup_age_seconds{step="created"}': '3600x600',
  'ces_backup_age_seconds{step="verified"}': '3600x600',
  ces_jobs_oldest_due_seconds: '1x600',
  'ces_jobs{state="failed"}': '0x600',
  ces_webhooks_oldest_due_seconds: '1x600',
  'ces_audit_batches_total{outcome="ok"}': '0+60x600',
  'ces_audit_batches_total{outcome="failed"}': '0x600',
  ces_audit_checkpoint_delay_seconds: '30x600',
  ces_failed_logins_total: '0+1x600',
  'ces_object_store_calls_total{call="put",outcome="failed"}': '0x600',
  ces_limiter_fallback: '0x600',
  'ces_data_dir_free_bytes{instance="a"}': '5e9x600',
  'ces_log_lines_lost_total{instance="a"}': '0x600',
  'probe_ssl_earliest_cert_expiry{instance="https://api.example.com"}': '5184000x600',
};
/** For each alert, the metrics that make it fire. */
const bad: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ServiceDown: { 'up{job="clinical-encounter-service",instance="a"}': '0x600' },
  RequestsFailNow: { [`${requests}_count{operation="getPatient",status="503"}`]: '0+20x600' },
  RequestsFail: { [`${requests}_count{operation="getPatient",status="503"}`]: '0+6x600' },
  RequestsSlowNow: { [`${requests}_bucket{operation="getPatient",le="1"}`]: '0+480x600' },
  RequestsSlow: { [`${requests}_bucket{operation="getPatient",le="1"}`]: '0+550x600' },
  EventLoopBlocked: { 'nodejs_eventloop_lag_p99_seconds{instance="a"}': '0.6x600' },
  ConnectionsExhausted: { 'ces_database_waiting{instance="a",pool="requests"}': '1x600' },
  ConnectionsNearLimit: { 'pg_stat_activity_count{instance="db",state="active"}': '81x600' },
  ReplicationLate: { 'pg_replication_lag_seconds{instance="db"}': '61x600' },
  StandbyStopped: { 'pg_replication_slots_active{instance="db",slot_name="s"}': '0x600' },
  SlotKeepsWal: { 'pg_replication_slots_pg_wal_lsn_diff{instance="db",slot_name="s"}': '11e9x600' },
  BackupOld: { 'ces_backup_age_seconds{step="created"}': '93601x600' },
  BackupUnverified: { 'ces_backup_age_seconds{step="verified"}': '_x600' },
  JobsLate: { ces_jobs_oldest_due_seconds: '601x600' },
  JobsFail: { 'ces_jobs{state="failed"}': '1x600' },
  WebhooksLate: { ces_webhooks_oldest_due_seconds: '301x600' },
  AuditFails: { 'ces_audit_batches_total{outcome="failed"}': '0+1x600' },
  CheckpointsLate: { ces_audit_checkpoint_delay_seconds: '601x600' },
  LoginsFail: { ces_failed_logins_total: '0+20x600' },
  ObjectStoreFails: { 'ces_object_store_calls_total{call="put",outcome="failed"}': '0+1x600' },
  LimiterAlone: { ces_limiter_fallback: '1x600' },
  DiskFull: { 'ces_data_dir_free_bytes{instance="a"}': '9e8x600' },
  LogLinesLost: { 'ces_log_lines_lost_total{instance="a"}': '0+1x600' },
  CertificateExpires: { 'probe_ssl_earliest_cert_expiry{instance="https://api.example.com"}': '1200000x600' },
};

/** The alerts that fire after seven hours of these metrics: promtool reports those not expected. */
async function firing(changes: Readonly<Record<string, string>>): Promise<string[]> {
  const series = Object.entries({ ...good, ...changes }).map(([name, values]) => ({ series: name, values }));
  const silent = alerts.map(({ alert }) => ({ eval_time: '7h', alertname: alert, exp_alerts: [] }));
  const test = { rule_files: [rules], tests: [{ interval: '1m', input_series: series, alert_rule_test: silent }] };
  await writeFile(folder('test.json'), JSON.stringify(test));
  return [...promtool(['test', 'rules', folder('test.json')]).matchAll(/alertname: (\w+)/g)].map(
    ([, name = '']) => name,
  );
}

(hasPromtool() ? describe : describe.skip)('the alert rules', () => {
  it('are silent for a good installation', async () => expect(await firing({})).toEqual([]));

  it.each(alerts.map(({ alert = '' }) => alert))('fire %s for its cause', async (alert) => {
    const fired = await firing(bad[alert] ?? {});
    // Requests that would spend the budget in two days also spend it in five.
    expect(fired).toEqual(alert.endsWith('Now') ? [alert, alert.replace('Now', '')] : [alert]);
  });
});

it('every alert names a runbook with its four parts, and every runbook has an alert', async () => {
  const named = alerts.map(({ annotations }) => annotations['runbook_url']?.split('runbooks.md#')[1]);
  const pages = runbooks.split(/^## /m).slice(1);
  expect(new Set(named)).toEqual(new Set(pages.map((page) => page.slice(0, page.indexOf('\n')))));
  await everyCase(
    pages,
    (page) => page.slice(0, page.indexOf('\n')),
    async (page) => {
      for (const part of ['Callers see', 'Look at', 'Do', 'Verify']) expect(page).toContain(`- **${part}** `);
    },
  );
});

it('the runbooks name only rates that the alert rules record', () => {
  const recorded = groups.flatMap(({ rules }) => rules.map(({ record }) => record));
  for (const [rate] of runbooks.matchAll(/\bces:\w+:\w+/g)) expect(recorded).toContain(rate);
});

it('the statements of the runbooks run on a database of the service', async () => {
  const { url } = await openTestDatabase();
  const statements = [...runbooks.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, text = '']) => text);
  expect(statements).toHaveLength(5);
  for (const statement of statements) await rowsOf(url, statement);
});

const program = ['prometheus-alertmanager', 'alertmanager'].find((name) => spawnSync(name, ['--version']).status === 0);
const hasAlertmanager = isThere(program !== undefined, 'the delivery of alerts', packages('prometheus-alertmanager'));

(hasAlertmanager ? it : it.skip)("Alertmanager delivers an alert and its runbook with the kit's file", async () => {
  const received = new Promise<any>((resolve) => {
    receiver.on(
      'request',
      (request, response) =>
        void json(request)
          .then(resolve, resolve)
          .then(() => response.end()),
    );
  });
  const address = `http://127.0.0.1:${await listenOnLoopback(receiver)}/alerts`;
  const config = await readFile(`${production}kit/alertmanager.yml`, 'utf8');
  await writeFile(folder('alertmanager.yml'), config.replace('http://receiver.example.com/alerts', address));
  const port = await freePort();
  const args = [
    `--config.file=${folder('alertmanager.yml')}`,
    `--storage.path=${folder('alerts')}`,
    '--cluster.listen-address=',
  ];
  const child = spawn(program ?? '', [...args, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
  while (!(await listens(port))) await delay(20);
  const [rule] = alerts;
  const sent = [{ labels: { alertname: rule?.alert, ...rule?.labels }, annotations: rule?.annotations }];
  const headers = { 'Content-Type': 'application/json' };
  const { status } = await fetch(`http://127.0.0.1:${port}/api/v2/alerts`, {
    method: 'POST',
    headers,
    body: JSON.stringify(sent),
  });
  expect(status).toBe(200);
  expect(await received).toMatchObject({ status: 'firing', alerts: sent });
  child.kill();
  await once(child, 'exit');
  await closeServer(receiver);
});
const receiver = createServer();
