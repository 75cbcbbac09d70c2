import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withClient } from '../../src/adapters/database/withClient.js';
import { layOut } from '../../src/adapters/citus/layout.js';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { closeDatabase, createCitusDatabase, startCitus } from './citusCluster.js';

/** Names the cluster to the workers: jest passes them only the environment. */
const adminVariable = 'TEST_CLUSTER_URL';
const templateVariable = 'TEST_CLUSTER_TEMPLATE';
/** The other nodes' addresses, if the cluster is one of Citus. */
const workersVariable = 'TEST_CLUSTER_WORKERS';
/** The role of the service, and its password. */
const SERVICE_ROLE = 'ces_test_service';

/** A database for one test file; by default migrated, and empty except for reference data. */
export interface TestDatabase {
  /** Of the superuser, who owns the schema, so that tests can break it. */
  readonly url: string;
  /** Of a role that has only the rights that `ces migrate` grants to the service. */
  readonly serviceUrl: string;
  drop(): Promise<void>;
}

/** Copies the migrated template, which takes some 50 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase(required(templateVariable), required(templateVariable));
}

/** {@link createTestDatabase}, dropped after the tests of the file. */
export async function openTestDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  afterAll(() => database.drop());
  return database;
}

/** A database without tables, for tests of the migrations. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase(required(templateVariable), 'template0');
}

/** A database on all nodes of Citus, migrated or not, whose tables have no places yet. */
export async function createUndistributedDatabase({ isMigrated }: { isMigrated: boolean }): Promise<TestDatabase> {
  const name = `${required(templateVariable)}_${randomUUID().replaceAll('-', '')}`;
  const urls = nodes().map((url) => databaseUrl(url, name));
  const [url = ''] = urls;
  await createCitusDatabase(urls);
  if (isMigrated) await migrateDatabase({ ownerUrl: url, url: serviceUrl(url) });
  return { url, serviceUrl: serviceUrl(url), drop: () => onEachNode(`DROP DATABASE ${name} WITH (FORCE)`) };
}

/** The superuser's address, for tests that inspect or end other sessions. */
export function adminUrl(): string {
  return required(adminVariable);
}

/** Whether the tests run on a cluster of Citus (`make test-citus`). */
export const isOnCitus = (): boolean => process.env['TEST_CITUS'] !== undefined;

/**
 * Starts one cluster for the run, in jest's parent process, and creates the template in it. TEST_DATABASE_URL names
 * another server (a superuser's address) to test with its version; TEST_CITUS starts three nodes of Citus; otherwise the
 * cluster is an embedded PostgreSQL in a temporary folder.
 * @returns a function that drops the databases, and removes the cluster unless it is the other server
 */
export async function startTestCluster(): Promise<() => Promise<void>> {
  const external = process.env['TEST_DATABASE_URL'];
  const started = isOnCitus() ? await startCitusCluster() : await startTemporaryCluster(external);
  const [url = '', ...workers] = started.urls;
  const template = `ces_test_${process.pid}`;
  process.env[adminVariable] = url;
  process.env[templateVariable] = template;
  process.env[workersVariable] = workers.join(' ');
  await dropDatabases((owner) => owner === process.pid || !isAlive(owner));
  for (const node of started.urls) {
    await execute(
      node,
      `DO $$ BEGIN CREATE ROLE ${SERVICE_ROLE} LOGIN PASSWORD '${SERVICE_ROLE}';
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
    );
  }
  await createTemplate(template);
  return async () => {
    await dropDatabases((owner) => owner === process.pid);
    await started.stop();
  };
}

async function createTemplate(name: string): Promise<void> {
  const [made = '', ...workers] = nodes().map((url) => databaseUrl(url, name));
  if (isOnCitus()) await createCitusDatabase([made, ...workers]);
  else await execute(adminUrl(), `CREATE DATABASE ${name} TEMPLATE template0`);
  await migrateDatabase({ ownerUrl: made, url: serviceUrl(made) });
  if (!isOnCitus()) return;
  await withClient({ connectionString: made }, layOut);
  for (const url of [made, ...workers]) await closeDatabase(url);
}

/** The addresses of all nodes, the coordinator's first; only one if it is not a cluster of Citus. */
const nodes = (): string[] => [adminUrl(), ...required(workersVariable).split(' ').filter(Boolean)];

/**
 * A temporary DATA_DIR for an embedded PostgreSQL, closed to other users like those of `mktemp -d`. `remove()` or any
 * end of this process, even SIGKILL, stops its PostgreSQL and removes it.
 */
export async function temporaryDataDir(parent = tmpdir()): Promise<{ dataDir: string; remove(): Promise<void> }> {
  const dataDir = await mkdtemp(join(parent, 'ces-test-'));
  // "cat" waits for the end of this process; PostgreSQL may start after it, so the loop repeats until the folder is gone.
  const script = `cat; while [ -d "$0" ]; do
    read -r pid < "$0/postgres/data/postmaster.pid" && kill -QUIT "$pid" && sleep 0.1 || rm -rf "$0"; done`;
  const cleaner = spawn('sh', ['-c', script, dataDir], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  const remove = async (): Promise<void> => {
    cleaner.stdin.end();
    await once(cleaner, 'exit');
  };
  return { dataDir, remove };
}

interface StartedCluster {
  /** Of the superuser, for each node. */
  readonly urls: readonly string[];
  stop(): Promise<void>;
}

async function startCitusCluster(): Promise<StartedCluster> {
  const { coordinator, workers, remove } = await startCitus(await roomyMemory());
  return { urls: [coordinator, ...workers].map((node) => node.url('postgres')), stop: remove };
}

async function startTemporaryCluster(external: string | undefined): Promise<StartedCluster> {
  if (external !== undefined) return { urls: [external], stop: async () => {} };
  const { dataDir, remove } = await temporaryDataDir(await roomyMemory());
  const log = (message: string): unknown => process.stderr.write(`${message}\n`);
  const fast = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
  const settings = { ...fast, max_connections: '200' };
  const { url, close } = await openEmbeddedPostgres({ dataDir, role: 'server', log, settings });
  return { urls: [url], stop: () => close().then(remove) };
}

/** A folder in memory if databases fit: each test file creates one, which takes far longer on a disk. */
async function roomyMemory(): Promise<string | undefined> {
  const memory = '/dev/shm';
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize > 4 * 1024 ** 3 ? memory : undefined;
}

async function createDatabase(prefix: string, template: string): Promise<TestDatabase> {
  const name = `${prefix}_${randomUUID().replaceAll('-', '')}`;
  await onEachNode(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  const url = databaseUrl(adminUrl(), name);
  return { url, serviceUrl: serviceUrl(url), drop: () => onEachNode(`DROP DATABASE ${name} WITH (FORCE)`) };
}

/**
 * Runs the statement on one node after the other: a drop locks the database and waits for the daemon of Citus, which
 * connects to the other nodes. Simultaneous drops would wait for each other, and could fail after 5 seconds.
 */
async function onEachNode(statement: string): Promise<void> {
  for (const node of nodes()) await execute(node, statement);
}

/** Drops databases of processes, including those of killed runs on a server that outlives them. */
async function dropDatabases(ofProcess: (pid: number) => boolean): Promise<void> {
  for (const node of nodes()) {
    const names = await query(node, `SELECT datname AS name FROM pg_database WHERE datname ~ '^ces_test_[0-9]+(_|$)'`);
    for (const name of names) {
      if (ofProcess(Number(name.split('_')[2]))) await execute(node, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function execute(url: string, sql: string): Promise<void> {
  await query(url, sql);
}

async function query(url: string, sql: string): Promise<string[]> {
  const { rows } = await withClient({ connectionString: url }, (client) => client.query<{ name: string }>(sql));
  return rows.map(({ name }) => name);
}

function serviceUrl(url: string): string {
  return Object.assign(new URL(url), { username: SERVICE_ROLE, password: SERVICE_ROLE }).href;
}

function databaseUrl(admin: string, name: string): string {
  const url = new URL(admin);
  url.pathname = `/${name}`;
  return url.href;
}

function required(variable: string): string {
  const value = process.env[variable];
  if (value === undefined) throw new Error(`${variable} is not set: run the tests by "npm test"`);
  return value;
}
