/**
 * `make bench`: measures the service's CPU time per request, relative to a plain node:http server with named statements
 * that does the same work on the same database. Both get requests in turn, and the median of their ratios counts,
 * because a busy or slow machine affects both alike. The service is measured likewise against Fastify with Prisma
 * (fastify/main.ts); {@link measureNeighbour} measures a tenant beside another one. Sends BENCH_ROUNDS pairs (default 9)
 * of BENCH_REQUESTS requests (default 300). Writes scripts/bench/RESULTS.md. Arguments (`make bench ARGS='"POST
 * /clients"'`, `neighbour`) select parts, whose figures are only printed. `--check` is the nightly short form: it fails
 * if a ratio exceeds {@link TOLERANCE} times the recorded one in each of {@link ATTEMPTS} measurements. `--profile` also
 * writes the service's CPU profile to .data/profiles.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../src/adapters/database/database.js';
import type { DomainContext } from '../../src/context.js';
import { createApiClient } from '../../src/domain/access/apiClients.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { createTenant } from '../../src/domain/access/tenants.js';
import { importCatalog } from '../../src/domain/catalog/import/importCatalog.js';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { packageRoot } from '../../src/packageRoot.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { temporaryDataDir } from '../../tests/support/postgres.js';
import { measureNeighbour, type Samples } from './neighbour.js';
import { operations, patientBody, type Sample } from './operations.js';
import { cpuPerRequest, load, median, send, startFlags, startMeasured, type MeasuredServer } from './server.js';

const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const isCheck = process.argv.includes('--check');
const isWhole = named.length === 0 && !isCheck;
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? (isCheck ? 4 : 9));
const REQUESTS = Number(process.env['BENCH_REQUESTS'] ?? (isCheck ? 120 : 300));
/** Factor by which a check's ratio may exceed the recorded one. */
const TOLERANCE = 1.5;
/** Maximum number of measurements in a check; an excess that is only noise does not appear in all of them. */
const ATTEMPTS = 10;
const measured = operations.filter(({ name }) => named.length === 0 || named.includes(name));
const RESULTS = new URL('RESULTS.md', import.meta.url);
const SERVICE = 'generated/build/src/main.js';
const BASELINE = 'scripts/bench/baseline.ts';
const ORDINARY = 'scripts/bench/fastify/main.ts';
/** Selects {@link measureNeighbour} as an argument. */
const NEIGHBOUR = 'neighbour';

/**
 * Creates a tenant with a demo catalog, an API client, a patient with 25 encounters, and 25 patients with an approval.
 */
async function sampleOf(
  domain: DomainContext,
  url: string,
  name: string,
  mode: 'live' | 'sandbox' = 'live',
): Promise<Sample> {
  const { id: tenantId } = await createTenant(domain, {
    ...{ name: `bench ${name}`, mode },
    requireLicensedProvider: false,
  });
  await importCatalog(domain, tenantId, await readFile(new URL('prisma/demo/harbor.json', packageRoot), 'utf8'));
  const granted = permissions.filter((permission) => mode === 'sandbox' || permission !== 'sandbox:simulate');
  const wanted = { tenant: tenantId, name: 'bench', permissions: granted };
  const { clientId, clientSecret } = await createApiClient(domain, wanted);
  const { id: apiClientId } = await domain.db.prisma.apiClient.findFirstOrThrow({ where: { tenantId, clientId } });
  const { id: clinicId } = await domain.db.prisma.clinic.findFirstOrThrow({ where: { tenantId, isActive: true } });
  const { id: productId } = await domain.db.prisma.product.findFirstOrThrow({
    where: { tenantId, isActive: true, isDeleted: false, availability: { none: { tenantId } } },
  });
  const ask = async (path: string, token: string, request?: RequestInit): Promise<Record<string, unknown>> => {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
    const response = await fetch(url + path, { headers, ...request });
    if (!response.ok)
      throw new Error(`${path} got ${response.status}: correct scripts/bench or the service: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const post = (path: string, body: object, token = '') =>
    ask(path, token, { method: 'POST', body: JSON.stringify(body) });
  const credentials = { client_id: clientId, client_secret: clientSecret };
  const token = String(
    (await post('/oauth/token', { grant_type: 'client_credentials', ...credentials }))['access_token'],
  );
  const patient = patientBody();
  const patientId = String((await post('/clients', patient, token))['user_id']);
  const email = String(patient['email']);
  const ids = { tenantId, apiClientId, clientId, clientSecret, token, patientId, email, clinicId, productId };
  const queue = { reviewType: 'asynchronous', serviceQueue: 'provider_network' };
  const encounter = { clinicId, treatmentIds: [productId], ...queue };
  const reviewerRef = '1234567893';
  for (let made = 0; made < 25; made += 1) {
    const { user_id } = await post('/clients', patientBody(), token);
    const created = await post('/encounters', { ...encounter, patientId: user_id }, token);
    const path = `/encounters/${String(created['encounter_id'])}`;
    await post(`${path}/claim`, { reviewerRef }, token);
    const { chartVersion } = await ask(`${path}/chart?reviewerRef=${reviewerRef}`, token);
    const items = created['gfe_data'] as { categoryId: string; subcategoryId: string }[];
    const decisions = items.map(({ categoryId, subcategoryId }) => ({
      categoryId,
      subcategoryId,
      decision: 'approved',
    }));
    await post(`${path}/review`, { reviewerRef, chartVersion, decisions }, token);
  }
  let encounterId = 0;
  for (let made = 0; made < 25; made += 1) {
    encounterId = Number((await post('/encounters', { ...encounter, patientId }, token))['encounter_id']);
  }
  return { ...ids, encounterId };
}

/** CPU time that PostgreSQL has spent on the connections of a program, in milliseconds. */
async function postgresCpu(domain: DomainContext, program: string): Promise<number> {
  const backends = await domain.db.prisma.$queryRaw<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE application_name = ${program}`;
  const ticks = await Promise.all(
    backends.map(async ({ pid }) => {
      const [, , ...fields] = (await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).split(/\) | /);
      return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
    }),
  );
  return ticks.reduce((sum, one) => sum + one, 0) * 10;
}

const rowOf = (cells: readonly unknown[]): string => `| ${cells.join(' | ')} |`;

/**
 * Measures both servers in turn. The result is their CPU times and the median of the ratios; a check uses the minimum
 * of each time instead, because other work disturbs minima less.
 */
async function pair(one: () => Promise<number>, other: () => Promise<number>) {
  const [first, second]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    first.push(await one());
    second.push(await other());
  }
  return {
    one: median(first),
    other: median(second),
    ratio: isCheck
      ? Math.min(...first) / Math.min(...second)
      : median(first.map((cpu, at) => cpu / (second[at] ?? NaN))),
  };
}

/** In a check, repeats a measurement that exceeds the limit, and fails if all attempts exceed it. */
async function within(limit: number, name: string, measurement: () => ReturnType<typeof pair>) {
  let result = await measurement();
  for (let attempt = 1; isCheck && result.ratio > limit && attempt < ATTEMPTS; attempt += 1) {
    result = await measurement();
  }
  if (isCheck && result.ratio > limit) {
    const ratio = result.ratio.toFixed(1);
    const allowed =
      limit > 0
        ? `the limit is ${limit.toFixed(1)}: make the operation cheaper, or record its ratio by "make bench"`
        : 'no ratio is recorded: run "make bench"';
    process.stderr.write(`${name} costs ${ratio} times the plain server; ${allowed}.\n`);
    process.exitCode = 1;
  }
  return result;
}

/** The environment of the server with Fastify and Prisma, which verifies the service's tokens. */
async function ordinaryOf(databaseUrl: string, service: MeasuredServer): Promise<NodeJS.ProcessEnv> {
  const { keys } = (await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as { keys: object[] };
  return { DATABASE_URL: databaseUrl, BENCH_KEY: JSON.stringify(keys[0]) };
}

async function measure(
  domain: DomainContext,
  databaseUrl: string,
  service: MeasuredServer,
  { live: sample, sandbox }: Samples,
): Promise<string[]> {
  const environment = { DATABASE_URL: databaseUrl, BENCH_SAMPLE: JSON.stringify(sample) };
  const baseline = await startMeasured(BASELINE, ['--import', 'tsx'], environment);
  const ordinary = isCheck
    ? undefined
    : await startMeasured(ORDINARY, ['--import', 'tsx'], await ordinaryOf(databaseUrl, service));
  const recorded = ratiosOf(await readFile(RESULTS, 'utf8').catch(() => ''));
  const rows = [];
  for (const operation of measured) {
    const warmed = [[baseline.url, sample] as const, [service.url, sample] as const];
    if (ordinary) warmed.push([service.url, sandbox], [ordinary.url, sample]);
    for (const [url, of] of warmed) {
      await send(url, operation, of);
      // Warm up first: code that is not compiled yet costs several times as much.
      await load(url, operation, of, 5 * REQUESTS);
    }
    const start = [
      await postgresCpu(domain, 'clinical-encounter-service'),
      await postgresCpu(domain, 'bench-baseline'),
    ];
    const { one, other, ratio } = await within(TOLERANCE * (recorded.get(operation.name) ?? 0), operation.name, () =>
      pair(
        () => cpuPerRequest(service, operation, sample, REQUESTS),
        () => cpuPerRequest(baseline, operation, sample, REQUESTS),
      ),
    );
    const end = [await postgresCpu(domain, 'clinical-encounter-service'), await postgresCpu(domain, 'bench-baseline')];
    const [own, least] = end.map((cpu, at) => (((cpu - (start[at] ?? 0)) * 1_000) / ROUNDS / REQUESTS).toFixed(0));
    const cells = [one.toFixed(0), other.toFixed(0), `**${ratio.toFixed(1)}**`, own, least];
    if (ordinary) {
      const { ratio: ofOrdinary } = await pair(
        () => cpuPerRequest(service, operation, sample, REQUESTS),
        () => cpuPerRequest(ordinary, operation, sample, REQUESTS),
      );
      cells.push(ofOrdinary.toFixed(2));
      // Send requests one after the other: a sandbox has fewer slots, and concurrent requests would share packets.
      const { ratio: ofSandbox } = await pair(
        () => cpuPerRequest(service, operation, sandbox, REQUESTS, 1),
        () => cpuPerRequest(service, operation, sample, REQUESTS, 1),
      );
      cells.push(ofSandbox.toFixed(2));
    }
    rows.push(rowOf([operation.name, ...cells]));
    process.stdout.write(`${rows.at(-1)}\n`);
  }
  await baseline.stop();
  await ordinary?.stop();
  return rows;
}

function ratiosOf(results: string): Map<string, number> {
  const rows = results.matchAll(/^\| (.+?) +\|.*\*\*([\d.]+)\*\*/gm);
  return new Map(Array.from(rows, ([, name = '', ratio]) => [name, Number(ratio)]));
}

const mebibytes = async (server: MeasuredServer): Promise<string> =>
  ((await server.usage()).rssBytes / 2 ** 20).toFixed(0);

const { dataDir, remove } = await temporaryDataDir();
const flags = await startFlags();
const lines: string[] = [];
if (isWhole) {
  // Measure the start as with `make start`: with the embedded database, which the first start creates.
  const own = await temporaryDataDir();
  const environment = { DATA_DIR: own.dataDir, PORT: '0', RATE_LIMIT: 'off' };
  await (await startMeasured(SERVICE, flags, environment)).stop();
  const second = await startMeasured(SERVICE, flags, environment);
  lines.push(rowOf(['second start with the embedded database, s', (second.readyMs / 1_000).toFixed(1)]));
  await delay(5_000);
  lines.push(rowOf(['memory when idle, MiB', await mebibytes(second)]));
  await second.stop();
  await own.remove();
}
const database = await openEmbeddedPostgres({ dataDir, role: 'server', log: () => undefined });
await migrateDatabase({ ownerUrl: database.url, url: database.url });
const domain = systemContext(openDatabase(database.url, { poolSize: 2 }));
const profiling = process.argv.includes('--profile') ? ['--cpu-prof', '--cpu-prof-dir=.data/profiles'] : [];
const service = await startMeasured(SERVICE, [...flags, ...profiling], {
  DATA_DIR: dataDir,
  DATABASE_URL: database.url,
  PORT: '0',
  RATE_LIMIT: 'off',
});
const samples = {
  live: await sampleOf(domain, service.url, 'measured'),
  neighbour: await sampleOf(domain, service.url, 'neighbour'),
  busy: await sampleOf(domain, service.url, 'busy'),
  sandbox: await sampleOf(domain, service.url, 'sandbox', 'sandbox'),
};
const rows = await measure(domain, database.url, service, samples);
lines.push(rowOf(['memory after load, MiB', await mebibytes(service)]));
const neighbours = isWhole || named.includes(NEIGHBOUR) ? await measureNeighbour(service.url, samples) : [];

const head = [
  'operation',
  'service, µs',
  'plain, µs',
  'ratio',
  'PostgreSQL, µs',
  'plain PostgreSQL, µs',
  '÷ Fastify + Prisma',
  'sandbox ÷ live',
];
const neighbourHead = ['beside 8 loops of', 'p95 alone, ms', 'p95 beside, ms', 'ratio', 'requests of the loops per s'];
const tableOf = (header: readonly string[], body: readonly string[]): string =>
  [rowOf(header), rowOf(['---', ...header.slice(1).map(() => '--:')]), ...body].join('\n');
const results = `# What a request costs

CPU time per request of a live tenant, against a plain node:http server with named statements, and divided by that of
Fastify with Prisma as they come (\`scripts/bench/fastify\`): medians of ${ROUNDS} pairs of ${REQUESTS} requests, by turns; ten
at the same time, apart from the last column. Written by \`make bench\`.

${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}

${tableOf(head, rows)}

${tableOf(['process', 'figure'], lines)}

How much another tenant's work slows a tenant down (all operations above by turns, ten at the same time), without rate
limits: 95th percentile of its response times.

${tableOf(neighbourHead, neighbours.map(rowOf))}
`;
if (isWhole) await writeFile(RESULTS, results);
process.stdout.write(`${lines.join('\n')}\n`);

await service.stop();
await domain.db.close();
await remove();
