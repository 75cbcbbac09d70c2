import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorCode } from '../../failures.js';

/** Starts listening. Resolves with the port, which the system chooses if `port` is 0. */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  await once(server.listen(port, host), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Starts listening. @throws Error that names HOST and PORT, with advice */
export function listenAt(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  return listen(server, port, host).catch((cause: unknown) => {
    const advice =
      errorCode(cause) === 'EADDRINUSE'
        ? '. Stop the program that listens there, or choose another PORT.'
        : '. Correct them.';
    throw new Error(`Cannot listen on HOST and PORT: ${String(cause)}${advice}`, { cause });
  });
}

/** Accepts no new connections. Resolves when all have ended; cuts those that remain after `limit` milliseconds. */
export function drain(server: Server, limit: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), limit);
    // A kept-alive connection becomes idle after its response: close it before it brings another request.
    const closing = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(closing);
      resolve();
    });
  });
}
