/**
 * `make bench-capacity`: measures the figures of `ces capacity`. Sends encounters over HTTP, from the patient to
 * delivery: a few step by step, for the cost of each operation; CAPACITY_LIVES of them (default 2,000) each as a whole,
 * for the bytes that stay stored; then CAPACITY_RATE per second (default 6), to compare the CPU time with the command's
 * prediction.
 * Writes scripts/bench/RESULTS-capacity.md.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../src/adapters/database/database.js';
import { capacityOf } from '../../src/cli/capacity.js';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { sampleFiles, startFileHost } from '../../tests/support/fileHost.js';
import { rowsOf } from '../../tests/support/migrations.js';
import { startReceiver } from '../../tests/support/receiver.js';
import { newEndpoint } from '../../tests/support/webhooks.js';
import { writeReport, type Compared } from './capacityReport.js';
import { combined, costsOf, sizesOf, type Costs } from './costs.js';
import { live, openScene, reads, steps, type Life } from './life.js';
import { startFlags, startMeasured } from './server.js';

const LIVES = Number(process.env['CAPACITY_LIVES'] ?? 2_000);
const RATE = Number(process.env['CAPACITY_RATE'] ?? 6);
const [STEPWISE, CONNECTIONS, SECONDS] = [500, 3, 120];
/** Reads per encounter: each kind of read twice. */
const READS = 2 * Object.keys(reads).length;

const dataDir = await mkdtemp(join(tmpdir(), 'ces-capacity-'));
const database = await openEmbeddedPostgres({ dataDir, role: 'server', log: () => undefined });
const [files, receiver] = await Promise.all([startFileHost(), startReceiver()]);
await migrateDatabase({ ownerUrl: database.url, url: database.url });
const db = openDatabase(database.url, { poolSize: 2 });
const service = await startMeasured('generated/build/src/main.js', await startFlags(), {
  ...{ DATA_DIR: dataDir, DATABASE_URL: database.url, RATE_LIMIT: 'off', PORT: '0' },
  ...{ DOCUMENT_FETCH_ALLOWED_HOSTS: files.host, WEBHOOK_ALLOWED_HOSTS: receiver.host },
});
const fileUrl = files.serve('/a.pdf', { content: sampleFiles.pdf, headers: { 'Content-Type': 'application/pdf' } });
const scene = await openScene(service.url, systemContext(db), fileUrl);
await newEndpoint({ baseUrl: service.url }, scene.partner, { url: receiver.url('/all') });

const [postmaster = ''] = (await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8')).split('\n');
const costs = (): Promise<Costs> => costsOf(service, db, postmaster);

/** Resolves when the webhooks of all events have arrived. */
async function delivered(): Promise<void> {
  for (let events = Infinity; receiver.received.length < events; await delay(100)) {
    const [row] = await db.everyTenant.rows<{ events: number }>`SELECT count(*)::int AS events FROM event`;
    events = row?.events ?? Infinity;
  }
}

/** The mean costs of one of `count` pieces of work, including the webhooks that they cause. */
async function costOf(count: number, work: () => Promise<unknown>): Promise<Costs> {
  const before = await costs();
  await work();
  await delivered();
  return combined(await costs(), before, (after, first) => (after - first) / count);
}

/** Calls `work` with the numbers from 0 to `count`, several at the same time. */
async function inParallel(count: number, work: (number: number) => Promise<unknown>): Promise<void> {
  const left = Array(count).keys();
  const worker = async (): Promise<void> => {
    for (const number of left) await work(number);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}

// Warm up first: code that is not compiled yet costs several times as much.
await inParallel(STEPWISE, () => live(scene, { ...steps, ...reads }));
const lives: (Life | undefined)[] = [];
const operations: [string, Costs][] = [];
for (const [name, step] of Object.entries({ ...steps, ...reads })) {
  const cost = await costOf(STEPWISE, () =>
    inParallel(STEPWISE, async (number) => (lives[number] = await live(scene, { step }, lives[number]))),
  );
  operations.push([name, cost]);
}
const sum = (all: readonly Costs[]): Costs => all.reduce((one, other) => combined(one, other, (a, b) => a + b));
const encounter = sum(operations.flatMap(([name, cost]) => (name in steps ? [cost] : [])));
const ofReads = operations.flatMap(([name, cost]) => (name in reads ? [cost] : []));
const read = combined(sum(ofReads), encounter, (all) => all / ofReads.length);
const idle = await costOf(SECONDS / 4, () => delay(SECONDS * 250));

// Remove the unused space that the steps have left, so that only the next encounters' growth is measured.
await rowsOf(database.url, 'VACUUM FULL');
const empty = await sizesOf(db, database.url);
await rowsOf(database.url, 'CHECKPOINT');
const whole = await costOf(LIVES, async () => {
  await inParallel(LIVES, () => live(scene));
  // Include the cost of writing the pages that the encounters have changed.
  await rowsOf(database.url, 'CHECKPOINT');
});
// Wait for the audit's checkpoint, which is added each minute.
await delay(60_000);
const sizes = (await sizesOf(db, database.url)).map(({ name, ...size }, index) => {
  const of = (key: 'rows' | 'table' | 'indexes'): number => (size[key] - (empty[index]?.[key] ?? 0)) / LIVES;
  return { name, rows: of('rows'), table: of('table'), indexes: of('indexes') };
});

const start = performance.now();
const load = await costOf(1, async () => {
  const underWay: Promise<unknown>[] = [];
  for (let number = 0; number < SECONDS * RATE; number += 1) {
    underWay.push(live(scene).then((life) => Promise.all([live(scene, reads, life), live(scene, reads, life)])));
    await delay(1_000 / RATE);
  }
  await Promise.all(underWay);
});
const seconds = (performance.now() - start) / 1_000;
const predicted = capacityOf({
  ...{ encountersPerDay: (SECONDS * RATE * 86_400) / seconds, readsPerEncounter: READS },
  ...{ peakFactor: 1, retentionDays: 365, poolSize: 10 },
});

const use = (predictedCores: number, ms: number): Compared => [predictedCores, ms / 1_000 / seconds];
await writeReport({
  ...{ operations, encounter, read, whole, sizes },
  ...{ lives: LIVES, idle },
  load: `${RATE} encounters per second with ${READS} reads each, for ${seconds.toFixed(0)} s`,
  compared: {
    server: use(predicted.busyServerCores, load.serverMs),
    PostgreSQL: use(predicted.busyDatabaseCores, load.databaseMs),
  },
  requests: Object.keys(steps).length,
});
await service.stop();
await db.close();
await database.close();
await Promise.all([files.close(), receiver.close(), rm(dataDir, { recursive: true, force: true })]);
