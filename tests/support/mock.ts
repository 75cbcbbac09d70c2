import { randomInt } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createServer } from 'node:net';

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

/** A free port below those that Linux gives to clients, so that it stays free while its server restarts. */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_768);
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort();
  }
  await once(server.close(), 'close');
  return port;
}
