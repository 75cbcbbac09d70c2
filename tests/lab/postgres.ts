import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { prepareCluster } from '../../src/embedded/postgresCluster.js';
import { startPostgres, type RunningPostgres } from '../../src/embedded/postgresProcess.js';
import { startCitus, type CitusCluster } from '../support/citusCluster.js';
import type { Part } from '../support/part.js';
import { temporaryDataDir } from '../support/postgres.js';
import { startReplication, type Replication } from '../support/replication.js';

/** PostgreSQL whose processes tests kill, stop and start again. */
export interface Postgres {
  /** The superuser's URL of a database, directly at the primary's port. */
  url(database: string): string;
  /** Sends a signal to all processes of the primary. */
  signal(name: NodeJS.Signals): Promise<void>;
  /** Starts those servers that have ended. */
  restart(): Promise<void>;
  readonly replication: Replication | undefined;
  /** The cluster of Citus, whose coordinator is the primary; undefined without Citus. */
  readonly citus?: CitusCluster;
  remove(): Promise<void>;
}

const RESTART_MS = 60_000;

async function signalAll(pid: number, name: NodeJS.Signals): Promise<void> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  for (const each of [pid, ...children.split(' ').filter(Boolean).map(Number)]) {
    try {
      process.kill(each, name);
    } catch {
      // A session has ended meanwhile.
    }
  }
}

/** The URL with the name of another database. */
const urlWith = (url: string, database: string): string => url.replace(/[^/]*$/, database);

/** The embedded PostgreSQL. It does not sync, so it survives the kill of its processes, but not of the machine. */
export async function startAlone(folder: string | undefined): Promise<Postgres> {
  const { dataDir, remove } = await temporaryDataDir(folder);
  const cluster = await prepareCluster(dataDir);
  // Outside the range of outgoing connections, which could take the port while PostgreSQL is down.
  const port = randomInt(20_000, 30_000);
  const settings = { port: String(port), fsync: 'off', max_connections: '200', max_wal_size: '128MB' };
  /** Retries, because PostgreSQL refuses to start while a process of its predecessor is left. */
  const start = async (): Promise<RunningPostgres> => {
    for (const end = Date.now() + RESTART_MS; ; await delay(20)) {
      const started = await startPostgres(cluster, settings);
      if (started) return started;
      if (Date.now() > end)
        throw new Error(`PostgreSQL did not start within ${RESTART_MS / 1_000} s: see ${cluster.logFile}`);
    }
  };
  let running = await start();
  const hasEnded = (): boolean => [running.process?.exitCode, running.process?.signalCode].some((code) => code != null);
  return {
    replication: undefined,
    url: (database) => urlWith(running.url, database),
    async signal(name) {
      await signalAll(running.pid, name);
      if (name === 'SIGKILL' && running.process && !hasEnded()) await once(running.process, 'exit');
    },
    async restart() {
      if (hasEnded()) running = await start();
    },
    remove,
  };
}

/** Debian's PostgreSQL with a synchronous standby. */
export async function startPair(folder: string | undefined): Promise<Postgres> {
  const replication = await startReplication(folder);
  return {
    replication,
    url: (database) => urlWith(replication.primary().url, database),
    async signal(name) {
      await signalAll(replication.primary().pid() ?? 0, name);
      if (name === 'SIGKILL') await replication.primary().stop(name);
    },
    async restart() {
      for (const node of [replication.primary(), replication.standby()]) await startAgain(node);
      await replication.synchronous();
    },
    remove: () => replication.remove(),
  };
}

/** A coordinator of Citus and two workers. */
export async function startCluster(folder: string | undefined): Promise<Postgres> {
  const citus = await startCitus(folder);
  const { coordinator, workers } = citus;
  return {
    replication: undefined,
    citus,
    url: (database) => coordinator.url(database),
    async signal(name) {
      await signalAll(coordinator.pid() ?? 0, name);
      if (name === 'SIGKILL') await coordinator.stop(name);
    },
    async restart() {
      for (const node of [coordinator, ...workers]) await startAgain(node);
    },
    remove: () => citus.remove(),
  };
}

/** Starts a PostgreSQL server that has ended, and retries while a process of its predecessor is left. */
async function startAgain(node: Part): Promise<void> {
  const isRunning = (): boolean => existsSync(`/proc/${node.pid()}`);
  while (!isRunning()) await node.start().catch(() => delay(200));
}
