import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withClient } from '../../src/adapters/database/withClient.js';
import { debianPrograms } from './debianPostgres.js';
import { freePort } from './mock.js';
import { isThere } from './optional.js';
import { asPostgres, part, type Part } from './part.js';
import { temporaryDataDir } from './postgres.js';

const run = promisify(execFile);

/** A server of PostgreSQL with Citus. */
export interface CitusNode extends Part {
  readonly port: number;
  /** The superuser's address of a database. */
  url(database: string): string;
}

export interface CitusCluster {
  readonly coordinator: CitusNode;
  readonly workers: readonly CitusNode[];
  /** Starts one more node, which no database knows yet. */
  addNode(): Promise<CitusNode>;
  remove(): Promise<void>;
}

/** Whether this machine has Citus for Debian's PostgreSQL; as {@link isThere}. */
export function hasCitus(): boolean {
  const library = join(debianPrograms, '../lib/citus.so');
  return isThere(existsSync(library), 'tests on Citus', `Install Citus for the PostgreSQL in ${debianPrograms}.`);
}

/** Starts a coordinator and two workers. @param parent the folder of their data */
export async function startCitus(parent?: string): Promise<CitusCluster> {
  const { dataDir, remove } = await temporaryDataDir(parent);
  if (asPostgres.length > 0) await run('chown', ['postgres:postgres', dataDir]);
  const nodes: CitusNode[] = [];
  const addNode = async (): Promise<CitusNode> => {
    const node = await startNode(dataDir, `node${nodes.length}`);
    nodes.push(node);
    return node;
  };
  const [coordinator, ...workers] = [await addNode(), await addNode(), await addNode()];
  return {
    coordinator,
    workers,
    addNode,
    async remove() {
      await Promise.all(nodes.map((node) => node.stop('SIGQUIT')));
      await remove();
    },
  };
}

async function startNode(folder: string, name: string): Promise<CitusNode> {
  const exec = (program: string, ...args: readonly string[]) =>
    run('setpriv', [...asPostgres, join(debianPrograms, program), ...args], { cwd: folder });
  const data = join(folder, name);
  await exec('initdb', '-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--no-sync');
  const port = await freePort();
  // Minor versions since August 2026 allow only named plugins; Citus splits shards with its own plugin.
  const plugins = await exec('postgres', '-D', data, '-C', 'output_plugin_libraries').then(
    () => ({ output_plugin_libraries: 'pgoutput, citus' }),
    () => ({}),
  );
  const settings = {
    ...plugins,
    ...{ port, listen_addresses: '127.0.0.1', unix_socket_directories: folder, fsync: 'off', full_page_writes: 'off' },
    ...{
      shared_preload_libraries: 'citus',
      wal_level: 'logical',
      max_connections: 300,
      max_prepared_transactions: 300,
    },
    ...{ logging_collector: 'on', log_filename: 'log' },
    // Each database has a process of Citus.
    ...{ max_worker_processes: 60, log_parameter_max_length: 0, log_error_verbosity: 'terse', 'citus.shard_count': 4 },
    // `ces citus layout` sets the lock timeout of a database, but copies of the database lack it.
    ...{ lock_timeout: '4s' },
    // For the test of where statements run.
    ...{ 'citus.enable_stat_counters': 'on' },
  };
  const args = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const url = (database: string): string => `postgresql://postgres@127.0.0.1:${port}/${database}`;
  const isReady = () =>
    execute(url('postgres'), 'SELECT 1').then(
      () => true,
      () => false,
    );
  const command = [join(debianPrograms, 'postgres'), '-D', data, ...args];
  const node = part({ command, isReady, cwd: folder, privileges: asPostgres });
  await node.start();
  return { ...node, port, url };
}

/** Creates an empty database on all nodes, and makes them a cluster. @param urls of the database: coordinator, workers */
export async function createCitusDatabase(urls: readonly string[]): Promise<void> {
  const [coordinator = ''] = urls;
  await execute(adminOf(coordinator), `CREATE DATABASE ${nameOf(coordinator)}`);
  await joinNodes(urls);
}

/** Makes the coordinator's database a cluster with empty ones on the workers. @param urls of the database on each node */
export async function joinNodes([coordinator = '', ...workers]: readonly string[]): Promise<void> {
  await execute(coordinator, 'CREATE EXTENSION citus');
  await execute(coordinator, `SELECT citus_set_coordinator_host(${addressOf(coordinator)})`);
  for (const url of workers) await addWorker(coordinator, url);
}

/** Adds a node to the cluster, with an empty database. */
export async function addWorker(coordinator: string, url: string): Promise<void> {
  await execute(adminOf(url), `CREATE DATABASE ${nameOf(url)}`);
  await execute(url, 'CREATE EXTENSION citus');
  await execute(coordinator, `SELECT citus_add_node(${addressOf(url)})`);
}

/** Ends all sessions of a database, including those of Citus, and refuses new ones, so that it can be copied. */
export async function closeDatabase(url: string): Promise<void> {
  await execute(adminOf(url), `ALTER DATABASE ${nameOf(url)} ALLOW_CONNECTIONS false`);
  await execute(
    adminOf(url),
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${nameOf(url)}'`,
  );
}

const adminOf = (url: string): string => Object.assign(new URL(url), { pathname: '/postgres' }).href;
const addressOf = (url: string): string => `'127.0.0.1', ${new URL(url).port}`;
const nameOf = (url: string): string => new URL(url).pathname.slice(1);

const execute = (url: string, sql: string): Promise<unknown> =>
  withClient({ connectionString: url }, (client) => client.query(sql));
