import type { Server } from 'node:http';
import { errorCode } from '../failures.js';

/** As configured. */
interface Address {
  readonly host: string;
  readonly port: number;
}

/** Listens; resolves with the port, which the system chooses when `port` is 0. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}

/** @throws Error naming HOST and PORT and, when the port is taken, what to do */
export function listenAt(server: Server, { host, port }: Address): Promise<number> {
  return listen(server, port, host).catch((cause: unknown) => {
    const advice = errorCode(cause) === 'EADDRINUSE' ? '. Stop what listens there, or choose another PORT.' : '';
    throw new Error(`HOST and PORT cannot be listened on: ${String(cause)}${advice}`, { cause });
  });
}

/**
 * Takes no new connection, lets requests in flight end and resolves.
 * @param limit milliseconds after which what is left is cut off
 */
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
