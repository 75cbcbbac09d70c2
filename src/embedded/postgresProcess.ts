import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { platform } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { environment, exists, readOptional, type Cluster } from './postgresCluster.js';

/** A PostgreSQL that accepts connections; `process` exists only if this process started it. */
export interface RunningPostgres {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly process?: ChildProcess;
}

/** Starts PostgreSQL in its own process group, out of reach of Ctrl-C; undefined if another process was faster. */
export async function startPostgres(
  cluster: Cluster,
  settings: Readonly<Record<string, string>>,
): Promise<RunningPostgres | undefined> {
  await removeStaleLock(cluster);
  const all = Object.entries({ ...defaultSettings, port: await freePort(), ...settings }).map(
    ([name, value]) => `--${name}=${value}`,
  );
  const command = [join(cluster.programs, 'postgres'), '-D', cluster.pgdata, ...all];
  const [program = '', ...args] = [...cluster.prefix, ...command];
  const log = await open(cluster.logFile, 'a', 0o600);
  const { size } = await log.stat();
  const options = { cwd: '/', detached: true, env: environment() };
  const child = spawn(program, args, { ...options, stdio: ['ignore', log.fd, log.fd] });
  let failure = '';
  child.once('error', ({ message }) => (failure = message));
  child.unref();
  await log.close();
  while (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
    const running = await findPostgres(cluster).catch((error: unknown) => {
      // The PostgreSQL just started refuses the password: stop it, or it would outlive this program.
      child.kill('SIGINT');
      throw error;
    });
    if (typeof running === 'object' && running.pid === child.pid) return { ...running, process: child };
    await delay(25);
  }
  const output = (await readFile(cluster.logFile)).subarray(size).toString('utf8');
  if (/lock file "postmaster.pid"|pre-existing shared memory/.test(output)) return undefined;
  if (output.includes('could not bind')) return startPostgres(cluster, settings);
  const reason =
    output.trim().split('\n').slice(-5).join(' | ') ||
    failure ||
    `it ended without a text (${child.signalCode ?? child.exitCode})`;
  throw new Error(
    `PostgreSQL did not start: ${reason}. Correct that (see ${cluster.logFile}), or use another database by DATABASE_URL.`,
  );
}

const defaultSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Keep statements and details of errors out of PostgreSQL's log, because they may contain health data.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
};

export function urlOf(role: string, password: string, port: number): string {
  return `postgresql://${role}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
}

/** The running PostgreSQL of a cluster; 'busy' while it starts or stops; undefined if none runs. */
export async function findPostgres(cluster: Cluster): Promise<RunningPostgres | 'busy' | undefined> {
  const [line, , , portLine] = ((await readOptional(join(cluster.pgdata, 'postmaster.pid'))) ?? '').split('\n');
  const pid = Number(line);
  if (!(pid > 0) || !(await isPostgres(cluster, pid))) return undefined;
  const port = Number(portLine);
  if (!(port > 0)) return 'busy';
  const url = urlOf('postgres', cluster.password, port);
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return { pid, port, url };
  } catch (error) {
    // Busy: no connection, or SQLSTATE 57P0x (starting, stopping). Other errors, such as a wrong password, are final.
    if (error instanceof DatabaseError && error.code?.startsWith('57P') === false) {
      const file = join(cluster.pgdata, '../password');
      throw new Error(
        `The PostgreSQL of DATA_DIR refuses a connection: ${error.message}. Correct that; ${file} must have the password of its role postgres.`,
        { cause: error },
      );
    }
    return 'busy';
  } finally {
    await client.end();
  }
}

/**
 * Tells PostgreSQL to stop, and waits up to 10 s. `fast` ends all sessions, and kills PostgreSQL after those 10 s;
 * `smart` lets PostgreSQL stop when its sessions end. `release` closes our own session, after the signal.
 */
export async function stopPostgres(
  cluster: Cluster,
  { pid }: RunningPostgres,
  mode: 'fast' | 'smart',
  release: () => Promise<void>,
): Promise<void> {
  if (await isPostgres(cluster, pid)) process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGTERM');
  await release();
  for (const deadline = Date.now() + 10_000; await isPostgres(cluster, pid);) {
    if (Date.now() > deadline) {
      // SIGQUIT loses no commit: the next start replays PostgreSQL's log.
      if (mode === 'fast') process.kill(pid, 'SIGQUIT');
      return;
    }
    await delay(20);
  }
}

/**
 * On Linux, removes a lock file whose process id now belongs to another program or cluster: PostgreSQL would refuse to
 * start. The file of a dead process stays, because PostgreSQL examines it for sessions that survived.
 */
async function removeStaleLock(cluster: Cluster): Promise<void> {
  const lock = join(cluster.pgdata, 'postmaster.pid');
  const pid = Number(((await readOptional(lock)) ?? '').split('\n')[0]);
  if (platform() !== 'linux' || !(pid > 0) || !exists(pid)) return;
  if (!(await isPostgres(cluster, pid))) await rm(lock, { force: true });
}

/** Whether the process is this cluster's PostgreSQL, not a zombie or another with its id; off Linux, whether it lives. */
async function isPostgres(cluster: Cluster, pid: number): Promise<boolean> {
  if (!exists(pid)) return false;
  if (platform() !== 'linux') return true;
  const commandLine = (await readOptional(`/proc/${pid}/cmdline`)) ?? '';
  return commandLine.split('\0').includes(cluster.pgdata);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}
