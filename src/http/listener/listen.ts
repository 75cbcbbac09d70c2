import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorCode } from '../../failures.js';

/** Listens; resolves with the port, which the system chooses when `port` is 0. */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  await once(server.listen(port, host), 'listening');
  return (server.address() as AddressInfo).port;
}

/** @throws Error naming HOST and PORT and, when the port is taken, what to do */
export function listenAt(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  return listen(server, port, host).catch((cause: unknown) => {
    const advice = errorCode(cause) === 'EADDRINUSE' ? '. Stop what listens there, or choose another PORT.' : '';
    throw new Error(`HOST and PORT cannot be listened on: ${String(cause)}${advice}`, { cause });
  });
}

/** Takes no new connection, and resolves when those in flight have ended: after `limit` milliseconds they are cut. */
export function drain(server: Server, limit: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), limit);
    // A kept-alive connection becomes idle when its last answer is out; it must not bring another request then.
    const sweep = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(sweep);
      resolve();
    });
  });
}
