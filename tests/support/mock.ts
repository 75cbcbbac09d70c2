import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createServer } from 'node:net';
import { listenOnLoopback } from './fileHost.js';

/** The mock of the contract in a child process. */
export interface Mock {
  readonly baseUrl: string;
  stop(): Promise<void>;
}

const root = join(import.meta.dirname, '../..');

/**
 * Starts `scripts/mock.ts` on a free port and waits until it listens.
 * @param options flags of the script, such as `--dynamic`
 */
export async function startMock(...options: string[]): Promise<Mock> {
  const port = await freePort();
  const args = ['--import', 'tsx', join(root, 'scripts/mock.ts'), ...options, '--port', String(port)];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      printed += chunk.toString();
      if (printed.includes('Prism is listening')) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', () => reject(new Error(`The mock did not start. Correct what it printed:\n${printed}`)));
  });
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** A port that is free at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listenOnLoopback(server);
  server.close();
  await once(server, 'close');
  return port;
}
