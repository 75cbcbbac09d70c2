import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../failures.js';

type Environment = Readonly<Record<string, string | undefined>>;
const run = promisify(execFile);
const DEBIAN = '/usr/lib/postgresql';
/** The list of a dump has a line for each object of the database. */
const MAX_OUTPUT = 64 * 1024 ** 2;

interface Place {
  readonly environment: Environment;
  /** The only folder to search. */
  readonly pgBin?: string | undefined;
}

/** A program of PostgreSQL. */
export interface PgProgram {
  /** Its major version. */
  readonly major: number;
  /** Runs it. @throws Error with the first line that it reports */
  run(...args: readonly string[]): Promise<string>;
  /** Runs it on a database. The password is in no argument, which other users can read. */
  runOn(url: string, ...args: readonly string[]): Promise<string>;
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
  const start = async (args: readonly string[], variables: Environment = {}): Promise<string> => {
    const env = { ...environment, ...variables };
    const { stdout } = await run(fitting.file, args, { env, maxBuffer: MAX_OUTPUT }).catch((cause: unknown) => {
      const lines = String((cause as { stderr?: unknown }).stderr).split('\n');
      const line = lines.find((each) => each.includes('error:')) ?? lines[0];
      throw new Error(`${name} failed: ${line || messageOf(cause)}`, { cause });
    });
    return stdout;
  };
  return {
    major: fitting.major,
    run: (...args) => start(args),
    runOn: (url, ...args) => start([...args, ...withoutPassword(url)], passwordOf(url)),
  };
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
