import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

type Environment = Readonly<Record<string, string | undefined>>;
const run = promisify(execFile);
const DEBIAN = '/usr/lib/postgresql';
/** Debian's file of the public authorities. */
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';

/** An installed program of PostgreSQL, such as pg_dump. */
export interface PgProgram {
  readonly major: number;
  /** Streams the program's output. @throws Error with the first error of its error output if it fails, even midway */
  output(url: string, ...args: readonly string[]): AsyncIterable<Uint8Array>;
  /**
   * Runs the program with this input; `url` is null if it needs no database. @throws as `output`, and input's errors
   */
  feed(input: AsyncIterable<Uint8Array>, url: string | null, ...args: readonly string[]): Promise<void>;
}

/**
 * Finds the program in PATH and in Debian's folders, in the smallest version that is at least `atLeast`.
 * @throws Error naming the versions found, if none is
 */
export async function pgProgram(name: string, atLeast: number, environment: Environment): Promise<PgProgram> {
  const versions = await readdir(DEBIAN).catch(() => []);
  const path = (environment['PATH'] ?? '').split(delimiter).filter(Boolean);
  const folders = [...path, ...versions.map((version) => join(DEBIAN, version, 'bin'))];
  const programs = await Promise.all(
    folders.map(async (folder) => {
      const file = join(folder, name);
      const { stdout } = await run(file, ['--version']).catch(() => ({ stdout: '' }));
      return { file, major: Number(/(\d+)(\.\d+)?/.exec(stdout)?.[1] ?? 0) };
    }),
  );
  const found = programs.filter(({ major }) => major > 0).sort((a, b) => a.major - b.major);
  const fitting = found.find(({ major }) => major >= atLeast);
  if (!fitting) {
    const majors = [...new Set(found.map(({ major }) => major))];
    const others = majors.length > 0 ? `, and only ${majors.join(', ')} was found` : '';
    throw new Error(
      `This command needs ${name} of PostgreSQL ${atLeast} or later${others}. ` +
        `Install PostgreSQL's client programs of such a version, and add their folder to PATH.`,
    );
  }
  return {
    major: fitting.major,

    async *output(url, ...args) {
      const { child, ended } = start(fitting, url, args, environment);
      child.stdin.end();
      try {
        yield* child.stdout;
        await ended();
      } finally {
        child.kill();
      }
    },

    async feed(input, url, ...args) {
      const { child, ended } = start(fitting, url, args, environment);
      child.stdout.resume();
      let failure: { readonly error: unknown } | undefined;
      async function* watched() {
        try {
          yield* input;
        } catch (error) {
          failure = { error };
          child.kill();
        }
      }
      // Ignore errors of writing: a program that has read enough, or fails, closes its input.
      await pipeline(watched(), child.stdin).catch(() => undefined);
      const end = await ended().catch((error: unknown) => ({ error }));
      const first = failure ?? end;
      if (first) throw first.error;
    },
  };
}

interface Program {
  readonly file: string;
  readonly major: number;
}

/** Starts a program. Passes the password in its environment, because other users can read arguments. */
function start({ file, major }: Program, url: string | null, args: readonly string[], environment: Environment) {
  const env = { ...environment, ...(url !== null && passwordOf(url)) };
  const child = spawn(file, [...args, ...(url === null ? [] : withoutPassword(url, major))], { env });
  const end = Promise.all([once(child, 'close'), text(child.stderr)]);
  // Prevent an unhandled rejection: the error is handled once the output has been read.
  end.catch(() => undefined);
  const ended = async (): Promise<void> => {
    const [, report] = await end;
    if (child.exitCode === 0) return;
    const lines = report.split('\n');
    // A program that a signal ended has printed warnings only.
    const line = lines.find((each) => each.includes('error:')) ?? child.signalCode ?? lines[0];
    const cause = line?.replace(/\.$/, '') || child.exitCode;
    // A database is marked during its restore, so that it cannot be used again.
    const reading =
      url === null ? 'repeat the command, or use another backup (--at)' : 'restore into another empty database';
    const again = basename(file) === 'pg_restore' ? reading : 'repeat the command';
    throw new Error(`${basename(file)} failed: ${cause}. Correct the cause, then ${again}.`);
  };
  return { child, ended };
}

function withoutPassword(url: string, major: number): string[] {
  const address = new URL(url);
  address.password = '';
  const { searchParams } = address;
  searchParams.delete('password');
  // Without sslrootcert, libpq would trust no public authority, but Node does. Before 16, it does not know those of the system.
  if (searchParams.get('sslmode') === 'verify-full' && !searchParams.has('sslrootcert')) {
    searchParams.set('sslrootcert', major < 16 ? AUTHORITIES : 'system');
  }
  return ['--dbname', address.href];
}

function passwordOf(url: string): Environment {
  const { password, searchParams } = new URL(url);
  const given = decodeURIComponent(password) || searchParams.get('password');
  return given ? { PGPASSWORD: given } : {};
}
