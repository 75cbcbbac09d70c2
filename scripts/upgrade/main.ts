/**
 * `make upgrade-test`: upgrades releases with 100,000 encounters (UPGRADE_ROWS) to this build under load, and back, in a
 * temporary embedded database. Writes scripts/upgrade/RESULTS.md. Exits with 1 if a figure misses its limit.
 */
import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withClient } from '../../src/adapters/database/withClient.js';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { packageRoot } from '../../src/packageRoot.js';
import type { Credentials } from '../../tests/support/factories.js';
import { rowsOf } from '../../tests/support/migrations.js';
import { temporaryDataDir } from '../../tests/support/postgres.js';
import { killServers, startBuild } from '../../tests/support/serverProcess.js';
import { startUpgradeLoad, WRITES_PER_SECOND, type Figures } from './load.js';
import { buildRelease, releaseIn, type Release } from './releases.js';

const ROWS = Number(process.env['UPGRADE_ROWS'] ?? 100_000);
const PHASE_MS = Number(process.env['UPGRADE_PHASE_MS'] ?? 10_000);
const READ_MS = Number(process.env['UPGRADE_READ_MS'] ?? 60_000);

const { dataDir, remove } = await temporaryDataDir();
const head = releaseIn('this build', packageRoot);
const old = await buildRelease('1.1.0', 'e4518e04');
const oldest = await buildRelease('1.0.0', 'd3d9eefc');
const postgres = await openEmbeddedPostgres({ dataDir, role: 'server', log: () => undefined });
const rows: string[] = [];
const missed: string[] = [];

async function createDatabase(name: string, template = 'template0'): Promise<string> {
  await rowsOf(postgres.url, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return Object.assign(new URL(postgres.url), { pathname: `/${name}` }).href;
}

const folderOf = ({ version }: Release): string => join(dataDir, `data-${version}`);

/** Starts a server of a release with a data folder, which may be another release's. */
async function start({ folder }: Release, url: string, data: Release) {
  // Use a port outside the range of outgoing connections. Tokens name the BASE_URL, so all servers share one.
  const port = String(randomInt(20_000, 30_000));
  const place = { DATABASE_URL: url, DATA_DIR: folderOf(data), PORT: port, BASE_URL: 'http://127.0.0.1:3000' };
  const environment = { ...place, RATE_LIMIT: 'off' };
  const server = startBuild(folder, environment, '--demo');
  const stop = async (): Promise<void> => {
    server.child.kill('SIGTERM');
    await server.ended;
  };
  await server.started;
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** Creates a database with the schema, the demo tenants and the rows of a release. */
async function prepare(release: Release): Promise<string> {
  const name = `release_${release.version.replaceAll('.', '_')}`;
  const url = await createDatabase(name);
  await release.cli(url, 'migrate');
  await (await start(release, url, release)).stop();
  await withClient({ connectionString: url }, async (client) => {
    await client.query(
      `INSERT INTO tenant (id, name, mode, created_at, updated_at) VALUES ('rows', 'rows', 'live', now(), now())`,
    );
    await release.seed(client, 'rows', ROWS);
  });
  return name;
}

function report(scenario: string, phase: string, { requests, failed, readP95, longest }: Figures): void {
  const statuses = Object.entries(failed).map(([status, count]) => `${count} × ${status}`);
  const cells = [
    scenario,
    phase,
    requests,
    statuses.join(', ') || 'none',
    `${readP95.toFixed(0)} ms`,
    `${longest.toFixed(0)} ms`,
  ];
  rows.push(`| ${cells.join(' | ')} |`);
  process.stdout.write(`${rows.at(-1)}\n`);
  if (Object.keys(failed).some((status) => status !== '503'))
    missed.push(`${scenario}, ${phase}: other failures than 503`);
}

async function loadOf(release: Release, url: string) {
  const file = await readFile(join(folderOf(release), 'demo-credentials.json'), 'utf8');
  const { tenants } = JSON.parse(file) as { tenants: [Credentials] };
  return startUpgradeLoad(url, tenants[0]);
}

async function reportLost(
  scenario: string,
  url: string,
  created: Readonly<Record<'client' | 'encounter', string[]>>,
): Promise<void> {
  for (const [table, ids] of Object.entries(created)) {
    const stored = await rowsOf(url, `SELECT FROM ${table} WHERE id = ANY ('{${ids.join()}}')`);
    rows.push(
      `| ${scenario} | acknowledged and lost: ${ids.length - stored.length} of ${ids.length} rows of ${table} | | | | |`,
    );
    process.stdout.write(`${rows.at(-1)}\n`);
    if (stored.length !== ids.length || ids.length === 0) missed.push(`${scenario}: lost rows of ${table}`);
  }
}

/** Scenario: the old server, a migration under load, a switch to the new server with both running, and the way back. */
async function rollOver(template: string): Promise<void> {
  const scenario = '1.1.0 → this build → 1.1.0';
  const url = await createDatabase('roll_over', template);
  let server = await start(old, url, old);
  const load = await loadOf(old, server.url);
  const phase = async (name: string, work: () => Promise<unknown> = () => delay(PHASE_MS)): Promise<void> => {
    await work();
    const figures = await load.figures();
    report(scenario, name, figures);
    if (figures.longest >= 1_000) missed.push(`${scenario}, ${name}: a pause of ${figures.longest.toFixed(0)} ms`);
  };
  const switchTo = async (release: Release): Promise<void> => {
    const next = await start(release, url, old);
    load.targets.push(next.url);
    await delay(PHASE_MS / 2);
    load.targets.shift();
    await server.stop();
    server = next;
  };
  await delay(2_000);
  await load.figures();
  await phase('1.1.0 on its schema');
  const begun = Date.now();
  await phase('migrate', () => head.cli(url, 'migrate'));
  rows.push(`| ${scenario} | migrate takes ${((Date.now() - begun) / 1_000).toFixed(1)} s | | | | |`);
  await phase('1.1.0 on the new schema');
  await phase('switch to this build', () => switchTo(head));
  await phase('this build');
  await phase('switch back to 1.1.0', () => switchTo(old));
  await phase('1.1.0 again');
  await load.stop();
  await server.stop();
  await reportLost(scenario, url, load.created);
}

/** Scenario: a transaction reads every table, as pg_dump does, while migrations are applied. */
async function longRead(template: string): Promise<void> {
  const scenario = `1.1.0, a transaction reads for ${READ_MS / 1_000} s`;
  const url = await createDatabase('long_read', template);
  const server = await start(old, url, old);
  const load = await loadOf(old, server.url);
  await delay(2_000);
  await load.figures();
  const reading = withClient({ connectionString: url }, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const tables = await client.query<{ name: string }>(
      `SELECT format('%I', relname) AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    );
    await client.query(`LOCK TABLE ${tables.rows.map(({ name }) => name).join()} IN ACCESS SHARE MODE`);
    await client.query('SELECT count(*) FROM encounter');
    await delay(READ_MS);
    await client.query('COMMIT');
  });
  await delay(500);
  const begun = Date.now();
  await head.cli(url, 'migrate');
  const figures = await load.figures();
  report(scenario, `migrate, ${((Date.now() - begun) / 1_000).toFixed(1)} s`, figures);
  if (figures.readP95 >= 1_000) missed.push(`${scenario}: GET p95 is ${figures.readP95.toFixed(0)} ms`);
  await reading;
  await load.stop();
  await server.stop();
  await reportLost(scenario, url, load.created);
}

/** Scenario: upgrade without running servers, because the schema of 1.1.0 does not support servers of 1.0.0. */
async function fromOldest(template: string): Promise<void> {
  const url = await createDatabase('oldest', template);
  const begun = Date.now();
  await head.cli(url, 'migrate');
  rows.push(
    `| 1.0.0 → this build, servers stopped | migrate takes ${((Date.now() - begun) / 1_000).toFixed(1)} s | | | | |`,
  );
  const server = await start(head, url, oldest);
  const load = await loadOf(oldest, server.url);
  await delay(PHASE_MS);
  report('1.0.0 → this build, servers stopped', 'this build', await load.figures());
  await load.stop();
  await server.stop();
}

try {
  const release = await prepare(old);
  await rollOver(release);
  await longRead(release);
  await fromOldest(await prepare(oldest));
} finally {
  await killServers();
  await postgres.close();
  await remove();
}

const results = `# Upgrades under load

Releases with ${ROWS.toLocaleString('en')} encounters in an embedded PostgreSQL; ${WRITES_PER_SECOND} writes (patients
and encounters) and 10 reads a second. Limits: failures are 503; no request takes 1 s in the first scenario; the reads' p95 is below 1 s. Written by
\`make upgrade-test\`.

${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}

| scenario | phase | requests | failed | reads p95 | longest |
| --- | --- | --: | --- | --: | --: |
${rows.join('\n')}

${missed.length > 0 ? missed.map((each) => `- Missed: ${each}`).join('\n') : 'All limits are met.'}
`;
await writeFile(new URL('RESULTS.md', import.meta.url), results);
process.exitCode = missed.length > 0 ? 1 : 0;
