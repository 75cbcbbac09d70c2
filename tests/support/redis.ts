import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './mock.js';

export interface RedisServer {
  readonly url: string;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Stops its process: connections are accepted, and nothing is ever said on them. */
  hang(): void;
  /** Lets a process go on that hangs. */
  wake(): void;
  /** Starts it again, empty, where it was. */
  start(): Promise<void>;
}

/**
 * Whether this machine has a Redis; says plainly on standard error when it has not.
 * @throws Error when it has not and REQUIRE_REDIS is set, as in CI: nothing may be skipped there
 */
export function hasRedis(): boolean {
  if (spawnSync('redis-server', ['--version']).status === 0) return true;
  const advice = 'Install it: apt-get install --no-install-recommends redis-server';
  if (process.env['REQUIRE_REDIS']) throw new Error(`REQUIRE_REDIS is set and there is no redis-server. ${advice}`);
  process.stderr.write(`SKIPPED: tests on a real Redis. ${advice}\n`);
  return false;
}

/** Starts a Redis on loopback that keeps nothing on disk. */
export async function startRedis(): Promise<RedisServer> {
  const port = await freePort();
  let child: ChildProcess;
  const start = async (): Promise<void> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    child = spawn('redis-server', args, { stdio: 'ignore' });
    while (!(await listens(port))) await delay(10);
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    hang: () => void child.kill('SIGSTOP'),
    wake: () => void child.kill('SIGCONT'),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.unref().once('connect', () => socket.destroy());
  });
}
