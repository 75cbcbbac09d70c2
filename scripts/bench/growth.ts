/**
 * `make bench-growth`: measures lists, searches, look-ups and sweeps in tenants with 1,000, 100,000 and 1,000,000 of each
 * record (GROWTH_ROWS=1000,100000 for less), as the median of GROWTH_RUNS runs (default 15) in a temporary embedded
 * database, and names the large tables that PostgreSQL read in full. A page of a catalog may take 350 ms. Writes
 * scripts/bench/RESULTS-growth.md. Arguments (`make bench-growth ARGS='"renewals, ten"'`) select operations, whose
 * figures are only printed.
 */
import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { Client } from 'pg';
import { pino } from 'pino';
import { openDatabase, type Database } from '../../src/adapters/database/database.js';
import { readConfig } from '../../src/config.js';
import type { Context } from '../../src/context.js';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { openServices } from '../../src/runtime/services.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { temporaryDataDir } from '../../tests/support/postgres.js';
import { withoutRequest } from '../../tests/support/withoutRequest.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { growthOperations, type GrowthOperation } from './growthOperations.js';
import { seedTenant } from './growthSeed.js';

const SIZES = (process.env['GROWTH_ROWS'] ?? '1000,100000,1000000').split(',').map(Number);
const named = process.argv.slice(2);
const RUNS = Number(process.env['GROWTH_RUNS'] ?? 15);

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
const countOf = (rows: number): string => rows.toLocaleString('en');
const rowOf = (cells: readonly unknown[]): string => `| ${cells.join(' | ')} |`;

interface Figure {
  readonly milliseconds: number;
  /** Names of large tables that PostgreSQL read in full. */
  readonly scanned: readonly string[];
}

/** How often each table with at least `rows` rows has been read in full so far, including by this connection. */
async function wholeReads({ db }: Context, rows: number): Promise<Map<string, number>> {
  await db.prisma.$executeRaw`SELECT pg_stat_force_next_flush()`;
  const tables = await db.prisma.$queryRaw<{ name: string; count: bigint }[]>`
    SELECT relname AS name, seq_scan AS count FROM pg_stat_user_tables WHERE n_live_tup >= ${rows}`;
  return new Map(tables.map(({ name, count }) => [name, Number(count)]));
}

/** Measures an operation. Its first runs, which warm up and prepare the statements, do not count. */
async function measure(context: Context, [, work, prepare]: GrowthOperation, rows: number): Promise<Figure> {
  const times: number[] = [];
  let before = new Map<string, number>();
  for (let run = -3; run < RUNS; run += 1) {
    if (run === 0) before = await wholeReads(context, rows);
    await prepare?.();
    const start = performance.now();
    await work();
    if (run >= 0) times.push(performance.now() - start);
  }
  const after = await wholeReads(context, rows);
  const scanned = [...after].filter(([name, count]) => count > (before.get(name) ?? 0)).map(([name]) => name);
  return { milliseconds: median(times), scanned };
}

async function contextOf(db: Database, url: string, tenantId: string): Promise<Context> {
  const domain = systemContext(db);
  const { id: apiClientId, clientId } = await db.prisma.apiClient.findFirstOrThrow({ where: { tenantId } });
  const services = await openServices({
    config: readConfig({ DATA_DIR: dataDir }),
    domain,
    databaseUrl: url,
    log: pino({ level: 'error' }),
    state: { baseUrl: '', isServing: true, wakeDeliveries: () => undefined },
  });
  return {
    ...services,
    caller: {
      tenantId,
      tenantMode: 'live' as const,
      apiClientId,
      clientId,
      permissions: new Set([]),
      allowedClinicIds: null,
      allowedPharmacyIds: null,
    },
    ...withoutRequest,
    realNow: domain.now,
  };
}

const { dataDir, remove } = await temporaryDataDir();
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_wal_size: '4GB' };
const database = await openEmbeddedPostgres({ dataDir, role: 'server', log: () => undefined, settings });
await migrateDatabase({ ownerUrl: database.url, url: database.url });
const client = new Client({ connectionString: database.url });
await client.connect();
const { url } = database;
const tenantOf = (rows: number): string => `rows-${rows}`;
// Create all tenants before measuring, so that sweeps and purges visit equally many at each size.
await client.query(
  `INSERT INTO tenant (id, name, mode, created_at, updated_at) SELECT id, id, 'live', now(), now() FROM unnest($1::text[]) id`,
  [SIZES.map(tenantOf)],
);

const figures = new Map<string, Figure[]>();
for (const rows of SIZES) {
  const tenantId = tenantOf(rows);
  await seedTenant(client, tenantId, rows);
  const db = openDatabase(url, { poolSize: 1, timeoutMs: 60_000 });
  const context = await contextOf(db, url, tenantId);
  for (const operation of await growthOperations(context, rows)) {
    const [name] = operation;
    if (named.length > 0 && !named.includes(name)) continue;
    const figure = await measure(context, operation, rows);
    figures.set(name, [...(figures.get(name) ?? []), figure]);
    process.stdout.write(`${rows} ${name}: ${figure.milliseconds.toFixed(2)} ms ${figure.scanned.join(' ')}\n`);
  }
  await db.close();
}
await client.end();
await remove();

const head = ['operation', ...SIZES.map((rows) => `${countOf(rows)} rows, ms`), 'last ÷ first', 'read as a whole'];
const table = [...figures].map(([name, of]) => {
  const [first, last] = [of[0]?.milliseconds ?? NaN, of.at(-1)?.milliseconds ?? NaN];
  const scanned = of.flatMap((figure, at) => figure.scanned.map((table) => `${table} (${countOf(SIZES[at] ?? 0)})`));
  const cells = of.map(({ milliseconds }) => milliseconds.toFixed(1));
  return rowOf([name, ...cells, `**${(last / first).toFixed(1)}**`, scanned.join(', ')]);
});
const results = `# What growth costs

Medians of ${RUNS} runs of the domain's code, without HTTP. Each tenant has as many clinics, products,
patients, encounters, keys and events as its column says; the smaller tenants are in the same database. A page of clinics or products, which
is counted, may take 350 ms; a page by cursor, a look-up or a sweep does not grow. Written by \`make bench-growth\`.

${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}

${[rowOf(head), rowOf(['---', ...head.slice(1, -1).map(() => '--:'), '---']), ...table].join('\n')}
`;
if (named.length === 0) await writeFile(new URL('RESULTS-growth.md', import.meta.url), results);
