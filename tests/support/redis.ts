import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './mock.js';
import { isThere, packages } from './optional.js';

export interface RedisServer {
  readonly url: string;
  /** Ends the process like a crash. */
  kill(): Promise<void>;
  /** Stops the process: connections are accepted but get no answer. */
  hang(): void;
  /** Resumes a stopped process. */
  wake(): void;
  /** Restarts Redis, empty, at the same address. */
  start(): Promise<void>;
}

/** Whether this machine has a Redis; as {@link isThere}. */
export function hasRedis(): boolean {
  const found = spawnSync('redis-server', ['--version']).status === 0;
  return isThere(found, 'tests on a real Redis', packages('redis-server'));
}

/** Starts a Redis on loopback that does not write to disk. */
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

/** Whether something listens at the port of this machine. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.unref().once('connect', () => socket.destroy());
  });
}
