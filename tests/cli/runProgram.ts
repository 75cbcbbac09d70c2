import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/cli/program.js';
import { packageRoot } from '../../src/packageRoot.js';
import { builtProgram } from '../support/builtProgram.js';

type Environment = Readonly<Record<string, string>>;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the operator's program in this process, because starting another process is slow. */
export const runProgram = (environment: Environment, ...args: readonly string[]): Promise<Ended> =>
  runAtTerminal(environment, undefined, ...args);

/** {@link runProgram} with a person who answers questions. */
export async function runAtTerminal(
  environment: Environment,
  ask: ((question: string) => Promise<string>) | undefined,
  ...args: readonly string[]
): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  const out = (part: string): void => void (stdout += part);
  const err = (part: string): void => void (stderr += part);
  const code = await runCommand(args, { environment, out, err, ask, screen: null });
  return { code, stdout, stderr };
}

/**
 * Runs a command with --json in this process.
 * @throws Error with its standard error when it fails or writes to standard error
 */
export async function runJson(environment: Environment, ...args: readonly string[]): Promise<any> {
  const { code, stdout, stderr } = await runProgram(environment, ...args, '--json');
  if (code !== 0 || stderr !== '') throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Starts the program as a shell would: compiled, with this environment and no terminal. */
export function startProcess(environment: Environment, ...args: readonly string[]) {
  return spawn(process.execPath, [builtProgram('cli/main.js'), ...args], {
    cwd: fileURLToPath(packageRoot),
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** {@link startProcess}, and waits until the process ends. */
export async function runProcess(environment: Environment, ...args: readonly string[]): Promise<Ended> {
  const child = startProcess(environment, ...args);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: child.exitCode, stdout, stderr };
}
