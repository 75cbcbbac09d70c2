import { spawnSync } from 'node:child_process';
import { createConnection } from 'node:net';
import { freePort } from './mock.js';
import { isThere, packages } from './optional.js';
import { part } from './part.js';

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
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = part({ command: ['redis-server', ...options], isReady: () => listens(port) });
  await server.start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start: server.start,
    hang: () => server.signal('SIGSTOP'),
    wake: () => server.signal('SIGCONT'),
    kill: () => server.stop('SIGKILL'),
  };
}

/** Whether something listens at the port of this machine. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.unref().once('connect', () => socket.destroy());
  });
}
