import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';
import { builtProgram } from './builtProgram.js';

/** The real service in a child process. */
export interface ServerProcess {
  readonly child: ChildProcess;
  /** Resolves with the address once the service has started; rejects with its standard error if it ends before. */
  readonly started: Promise<string>;
  /** Resolves when the process has ended, for any reason. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  stdout(): string;
  stderr(): string;
  /** Every line of the log so far. */
  logged(): Record<string, unknown>[];
}

const running = new Set<ChildProcess>();

/** Starts the compiled service with these arguments, this environment and PATH; on a free port unless PORT names one. */
export function startServer(environment: Readonly<Record<string, string>>, ...args: readonly string[]): ServerProcess {
  return startBuild(packageRoot, environment, ...args);
}

/** {@link startServer} with the compiled service of another copy of the repository. */
export function startBuild(
  root: URL,
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): ServerProcess {
  const child = spawn(process.execPath, [builtProgram('main.js', root), ...args], {
    cwd: fileURLToPath(root),
    env: { PATH: process.env['PATH'], PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  running.add(child);
  const ended = once(child, 'close').then(() => {
    running.delete(child);
    return { code: child.exitCode, signal: child.signalCode };
  });
  const logged = (): Record<string, unknown>[] =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const started = (async () => {
    for (;;) {
      // A start prints the address on standard error last.
      const line = logged().find(({ msg }) => msg === 'started');
      if (line && stderr.endsWith('\n')) return String(line['baseUrl']);
      const over = await Promise.race([
        once(child.stdout, 'data').then(() => false),
        once(child.stderr, 'data').then(() => false),
        ended.then(() => true),
      ]);
      if (over)
        throw new Error(`The service ended before it had started. Correct what its standard error says:\n${stderr}`);
    }
  })();
  // A caller that awaits only `ended` must not get an unhandled rejection.
  started.catch(() => undefined);
  return { child, started, ended, stdout: () => stdout, stderr: () => stderr, logged };
}

/** Kills every server that still runs, as a failed test leaves it. */
export async function killServers(): Promise<void> {
  for (const child of running) {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
}
