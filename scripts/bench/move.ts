/**
 * `make bench-move`: moves a tenant of MOVE_ROWS encounters (default 100,000) to another cell while three callers change it
 * and another tenant of the source sends 20 requests per second, and prints the latencies of that tenant before, during and
 * after the move, how long the moved tenant had no cell, and how many acknowledged records are missing. The source cell
 * has one core and the disk; the target and the callers have another core, and the target's files are in memory.
 */
import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpus, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openDatabase } from '../../src/adapters/database/database.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { packageRoot } from '../../src/packageRoot.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { newPartner, newToken, patientBody } from '../../tests/support/factories.js';
import type { Harness } from '../../tests/support/harness.js';
import { call } from '../../tests/support/http.js';
import { rowsOf } from '../../tests/support/migrations.js';
import { temporaryDataDir } from '../../tests/support/postgres.js';
import { seedTenant } from './growthSeed.js';
import { openScene, type Scene } from './scene.js';
import { startFlags, startMeasured } from './server.js';

const ROWS = Number(process.env['MOVE_ROWS'] ?? 100_000);
const [PER_SECOND, WRITERS, WARM_UP_MS, CALM_MS] = [20, 3, 15_000, 30_000];

/** Assigns a core to all processes that are started from now on. */
const useCore = (core: number) => execFileSync('taskset', ['-pc', String(core), String(process.pid)]);

async function startCell(name: string, parent?: string) {
  const settings = { wal_level: 'logical', max_wal_size: '4GB' };
  const { dataDir, remove } = await temporaryDataDir(parent);
  const database = await openEmbeddedPostgres({ dataDir, role: 'server', log: () => undefined, settings });
  await migrateDatabase({ ownerUrl: database.url, url: database.url });
  const server = await startMeasured('generated/build/src/main.js', await startFlags(), {
    // Use one folder for both, because cells share keys and documents.
    ...{ CELL: name, DATA_DIR: folder.dataDir, DATABASE_URL: database.url, RATE_LIMIT: 'off', PORT: '0' },
  });
  return { server, database, remove, db: openDatabase(database.url, { poolSize: 2 }) };
}

const folder = await temporaryDataDir();
useCore(0);
const a = await startCell('a');
useCore(1);
const b = await startCell('b', '/dev/shm');

const domain = systemContext(a.db);
// The cast is safe, because the factories use only these members of a harness.
const moving = await newPartner({ baseUrl: a.server.url, domain } as unknown as Harness);
const staying = await openScene(a.server.url, domain);
const { tenantId } = moving;
await withClient({ connectionString: a.database.url }, (client) => seedTenant(client, tenantId, ROWS));

let phase = 'warm-up';
let isOver = false;
const latencies = new Map<string, number[]>();
const failures: string[] = [];

/** A request of the tenant that stays: in turn, it creates a patient, reads twice, and creates an encounter. */
async function callOfStaying({ send, clinicId, treatmentIds }: Scene, count: number, patientId: string) {
  if (count % 4 === 0) return send('POST /clients', patientBody());
  if (count % 4 === 1) return send('GET /encounters?limit=20');
  if (count % 4 === 2) return send(`GET /clients/${patientId}`);
  const types = { reviewType: 'asynchronous', serviceQueue: 'provider_network' };
  return send('POST /encounters', { ...types, clinicId, treatmentIds, patientId });
}

async function staysUnderLoad(): Promise<void> {
  const { user_id: patientId } = (await staying.send('POST /clients', patientBody())) as { user_id: string };
  const underWay: Promise<unknown>[] = [];
  for (let count = 0; !isOver; count += 1) {
    const [start, of] = [performance.now(), phase];
    const one = callOfStaying(staying, count, patientId)
      .catch((error: unknown) => failures.push(String(error)))
      .then(() => latencies.set(of, [...(latencies.get(of) ?? []), performance.now() - start]));
    underWay.push(one);
    await delay(1_000 / PER_SECOND);
  }
  await Promise.all(underWay);
}

const acknowledged: string[] = [];
let longestGap = 0;
async function writes(): Promise<void> {
  let { token } = moving;
  let baseUrl = a.server.url;
  let last = performance.now();
  for (let key = randomUUID(); !isOver; await delay(100)) {
    const request = { token, json: patientBody(), headers: { 'Idempotency-Key': key } };
    const answer = await call({ baseUrl }, 'POST /clients', request);
    const { status } = answer;
    if (status === 201) {
      acknowledged.push((answer.body as { readonly user_id: string }).user_id);
      longestGap = Math.max(longestGap, performance.now() - last);
      last = performance.now();
      key = randomUUID();
    } else if (status === 401) {
      baseUrl = b.server.url;
      token = await newToken({ baseUrl }, moving);
    } else if (status !== 503) failures.push(`POST /clients: ${status}`);
  }
}

/** Follows the place of the moved tenant, to assign measurements to the phases of the move. */
async function watch(): Promise<void> {
  const names = { leaving: 'copy', closed: 'closed', away: 'audit' } as Readonly<Record<string, string>>;
  while (phase !== 'after') {
    const [row] = await a.db.everyTenant.rows<{ place: string }>`SELECT place::text FROM tenant_cell`;
    if (row && phase !== 'after') phase = names[row.place] ?? phase;
    await delay(50);
  }
}

await rowsOf(a.database.url, 'CHECKPOINT');
const working = [staysUnderLoad(), ...Array.from({ length: WRITERS }, writes)];
await delay(WARM_UP_MS);
phase = 'before';
await delay(CALM_MS);
const watching = watch();
const started = performance.now();
const command = fileURLToPath(new URL('generated/build/src/cli/main.js', packageRoot));
const args = ['tenant', 'move', tenantId, '--yes', '--json'];
const env = {
  ...{ PATH: process.env['PATH'], DATABASE_URL: a.database.url, MOVE_TO_URL: b.database.url },
  ...{ DATA_DIR: folder.dataDir, USER: 'bench' },
};
const { stdout } = await promisify(execFile)(process.execPath, [command, ...args], { env });
const seconds = (performance.now() - started) / 1_000;
phase = 'after';
await watching;
await delay(CALM_MS);
isOver = true;
await Promise.all(working);

const quantile = (values: readonly number[], part: number): string =>
  (values.toSorted((one, other) => one - other)[Math.floor(values.length * part)] ?? NaN).toFixed(1);
latencies.set(
  'the whole move',
  ['copy', 'closed', 'audit'].flatMap((name) => latencies.get(name) ?? []),
);
for (const [name, of] of latencies) {
  const figures = [0.5, 0.95, 0.99, 1].map((part) => quantile(of, part === 1 ? 1 - 1 / of.length : part));
  process.stdout.write(`| ${[name, of.length, ...figures].join(' | ')} |\n`);
}
const stored = new Set((await rowsOf(b.database.url, 'SELECT id FROM client')).map(({ id }) => id));
const lost = acknowledged.filter((id) => !stored.has(id)).length;
process.stdout
  .write(`${stdout.trim()}, ${seconds.toFixed(1)} s; writers: ${acknowledged.length} acknowledged, ${lost} lost, longest gap ${(longestGap / 1_000).toFixed(1)} s
failures: ${failures.length} ${failures[0] ?? ''}; ${cpus()[0]?.model.trim()}, load ${loadavg()
  .map((each) => each.toFixed(1))
  .join(' ')}\n`);
await Promise.all(
  [a, b].map(async ({ server, db, database, remove }) => {
    await server.stop();
    await db.close();
    await database.close();
    await remove();
  }),
);
await folder.remove();
process.exitCode = lost > 0 ? 1 : 0;
