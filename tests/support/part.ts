import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** A program on this machine that tests stop and start again. */
export interface Part {
  /** Resolves when it is ready. @throws Error with its last output if it ends before, or is not ready in time */
  start(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** The id of the latest process. */
  pid(): number | undefined;
  /** Sends a signal and waits for the end; does nothing if it is not running. */
  stop(name?: NodeJS.Signals): Promise<void>;
}

interface PartOptions {
  readonly command: readonly string[];
  /** Whether the program can be used. */
  readonly isReady: () => Promise<boolean>;
  readonly cwd?: string;
  /** Options of setpriv, to run as another user. */
  readonly privileges?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** The options of setpriv for programs that refuse to run as root. */
export const asPostgres = process.getuid?.() === 0 ? ['--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];

const OUTPUT = 4_000;
const READY_MS = 60_000;

/** The kernel ends the program with this process, even if this process is killed. The program inherits only PATH. */
export function part({ command, isReady, cwd, privileges = [], environment }: PartOptions): Part {
  let child: ChildProcess | undefined;
  const isRunning = (): boolean => child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    async start() {
      const started = (child = spawn('setpriv', ['--pdeathsig', 'KILL', ...privileges, ...command], {
        ...(cwd === undefined ? {} : { cwd }),
        env: { PATH: process.env['PATH'], ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      }));
      let output = '';
      for (const stream of [started.stdout, started.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-OUTPUT)));
      }
      started.on('error', (error) => (output += error.message));
      for (const end = Date.now() + READY_MS; !(await isReady()); await delay(20)) {
        if (isRunning() && Date.now() < end) continue;
        started.kill('SIGKILL');
        throw new Error(
          `${command.join(' ')} ended, or was not ready within ${READY_MS / 1_000} s. See its output:\n${output}`,
        );
      }
    },
    signal: (name) => void child?.kill(name),
    pid: () => child?.pid,
    async stop(name = 'SIGTERM') {
      if (!child || !isRunning()) return;
      const ended = once(child, 'exit');
      child.kill(name);
      await ended;
    },
  };
}
