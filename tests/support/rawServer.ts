import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { listenOnLoopback } from './fileHost.js';

/** A TCP server, for answers that no HTTP server sends. */
export interface RawServer {
  /** `host:port` */
  readonly host: string;
  openConnections(): number;
  close(): void;
}

/**
 * Answers the first bytes of a connection, in one piece or with head and body apart, and then closes it. After a 101 and
 * without an answer (undefined) it keeps the connection open.
 */
export async function startRawServer(answer: string | undefined, split: boolean): Promise<RawServer> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    socket.once('data', () => {
      if (answer === undefined) return;
      const end = answer.indexOf('\r\n\r\n') + 4;
      if (answer.includes(' 101 ')) socket.write(answer);
      else if (!split || end < 4) socket.end(answer);
      else socket.write(answer.slice(0, end), () => socket.end(answer.slice(end)));
    });
  });
  return {
    host: `127.0.0.1:${await listenOnLoopback(server)}`,
    openConnections: () => open.size,
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** A server with a full queue and a sleeping process, so that the kernel accepts no further connection. */
export async function startDeafServer(): Promise<RawServer> {
  const program = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    require('node:fs').writeSync(1, String(this.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [printed]: unknown[] = await once(child.stdout, 'data');
  const port = Number(String(printed));
  const queue = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  await Promise.all(queue.slice(0, 2).map((socket) => once(socket, 'connect')));
  return {
    host: `127.0.0.1:${port}`,
    openConnections: () => queue.length,
    close() {
      for (const socket of queue) socket.destroy();
      child.kill('SIGKILL');
    },
  };
}
