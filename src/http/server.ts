import { createServer, STATUS_CODES, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { Problem } from '../problem.js';
import { problemBody } from './errors.js';

/** Slow or idle connections are closed after these times, looked at every 2 s, so that they cannot pile up. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
};

/** An HTTP server that slow and malformed requests cannot hold up. */
export function createHttpServer(listener: RequestListener, newId: () => string): Server {
  const server = createServer(TIMEOUTS, listener);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else socket.end(malformedRequest(newId()));
  });
  return server;
}

/** What Node's parser refuses has no route yet: it is answered in the documented shape all the same. */
function malformedRequest(requestId: string): string {
  const problem = new Problem('validation_failed', 'The HTTP request is malformed, too large or came too slowly.');
  const body = JSON.stringify(problemBody(problem, requestId));
  return [
    `HTTP/1.1 400 ${STATUS_CODES[400]}`,
    'Content-Type: application/problem+json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Cache-Control: no-store',
    'Connection: close',
    '',
    body,
  ].join('\r\n');
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
