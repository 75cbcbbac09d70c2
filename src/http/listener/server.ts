import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Services } from '../../context.js';

/** Milliseconds. Slow connections are closed, so that they cannot pile up. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 2_000,
  /** Limits the time in which no byte of a response leaves, because the response occupies memory meanwhile. */
  stallTimeout: 30_000,
};

/** Creates an HTTP server that withstands slow connections. Node answers malformed requests and keeps pipelined ones in order. */
export function createHttpServer(
  listener: RequestListener,
  { keepAliveTimeout, maxConnections }: Pick<Services['config'], 'keepAliveTimeout' | 'maxConnections'>,
  limits: Partial<typeof TIMEOUTS> = {},
): Server {
  const receive: RequestListener = (req, res) => {
    // Node restarts this timeout with each byte that leaves. An operation that is still running may take longer.
    res.on('timeout', (socket: Socket) => {
      if (socket.writableLength > 0) socket.destroy();
    });
    listener(req, res);
  };
  const { stallTimeout, ...timeouts } = { ...TIMEOUTS, ...limits };
  const server = createServer({ ...timeouts, keepAliveTimeout }, receive);
  server.maxConnections = maxConnections;
  server.timeout = stallTimeout;
  // Serve requests with an unknown expectation (RFC 9110 §10.1.1): Node's 417 is not in the contract.
  server.on('checkExpectation', receive);
  return server;
}
