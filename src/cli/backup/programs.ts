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

interface Place {
  readonly environment: Environment;
  /** The only folder to search. */
  readonly pgBin?: string | undefined;
}

/** A program of PostgreSQL. */
export interface PgProgram {
  /** Its major version. */
  readonly major: number;
  /** Streams its output for a database. @throws Error with the first line of its error output if it fails, even midway */
  output(url: string, ...args: readonly string[]): AsyncIterable<Uint8Array>;
  /** Runs it with this input, on a database if it needs one. @throws as `output`, and errors of the input */
  feed(input: AsyncIterable<Uint8Array>, url: string | null, ...args: readonly string[]): Promise<void>;
}

/** Finds the program in its smallest version from `atLeast` on. @throws Error that names the versions that were found */
export async function pgProgram(name: string, atLeast: number, { environment, pgBin }: Place): Promise<PgProgram> {
  const versions = await readdir(DEBIAN).catch(() => []);
  const path = (environment['PATH'] ?? '').split(delimiter).filter(Boolean);
  const folders = pgBin === undefined ? [...path, ...versions.map((version) => join(DEBIAN, version, 'bin'))] : [pgBin];
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
    const others = found.length > 0 ? `, and only ${found.map(({ major }) => major).join(', ')} was found` : '';
    throw new Error(
      `This needs ${name} of PostgreSQL ${atLeast} or later${others}. ` +
        `Install PostgreSQL's client programs, or name their folder with --pg-bin.`,
    );
  }
  return {
    major: fitting.major,

    async *output(url, ...args) {
      const { child, ended } = start(fitting.file, url, args, environment);
      child.stdin.end();
      try {
        yield* child.stdout;
        await ended();
      } finally {
        child.kill();
      }
    },

    async feed(input, url, ...args) {
      const { child, ended } = start(fitting.file, url, args, environment);
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
      // A program that has read enough, or fails, closes its input.
      await pipeline(watched(), child.stdin).catch(() => undefined);
      const end = await ended().catch((error: unknown) => ({ error }));
      const first = failure ?? end;
      if (first) throw first.error;
    },
  };
}

/** Starts a program. The password is in no argument, which other users can read. */
function start(file: string, url: string | null, args: readonly string[], environment: Environment) {
  const env = { ...environment, ...(url !== null && passwordOf(url)) };
  const child = spawn(file, [...args, ...(url === null ? [] : withoutPassword(url))], { env });
  const end = Promise.all([once(child, 'close'), text(child.stderr)]);
  // Handled once the output has been read.
  end.catch(() => undefined);
  const ended = async (): Promise<void> => {
    const [, report] = await end;
    if (child.exitCode === 0) return;
    const lines = report.split('\n');
    const line = lines.find((each) => each.includes('error:')) ?? lines[0];
    throw new Error(`${basename(file)} failed: ${line || (child.exitCode ?? child.signalCode)}`);
  };
  return { child, ended };
}

function withoutPassword(url: string): string[] {
  const address = new URL(url);
  address.password = '';
  const { searchParams } = address;
  searchParams.delete('password');
  // Without it, Node trusts its own authorities, and libpq none.
  if (searchParams.get('sslmode') === 'verify-full' && !searchParams.has('sslrootcert')) {
    searchParams.set('sslrootcert', 'system');
  }
  return ['--dbname', address.href];
}

function passwordOf(url: string): Environment {
  const { password, searchParams } = new URL(url);
  const given = decodeURIComponent(password) || searchParams.get('password');
  return given ? { PGPASSWORD: given } : {};
}
