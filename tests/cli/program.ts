import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../../src/packageRoot.js';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the operator's program as a shell would: a process of its own, with this environment and no terminal. */
export async function runProgram(environment: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('src/cli/main.ts', packageRoot)), ...args], {
    cwd: fileURLToPath(packageRoot),
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: child.exitCode, stdout, stderr };
}

/**
 * Runs a command with --json.
 * @throws Error with what it said when it failed, or said more than the JSON
 */
export async function runJson(environment: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await runProgram(environment, ...args, '--json');
  if (code !== 0 || stderr !== '') throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}
