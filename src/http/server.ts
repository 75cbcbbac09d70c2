import { createServer, STATUS_CODES, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Problem } from '../problem.js';
import { problemBody } from './errors.js';

/** Milliseconds; slow or idle connections are closed after these times, so that they cannot pile up. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 2_000,
};

/** Milliseconds for the other side to take the last answer and to close; then the connection is cut. */
const LINGER = 1_000;

/** Told of a request that never reached the application; gives the headers that every answer has. */
export type RefusalObserver = (requestId: string) => Readonly<Record<string, string>>;

/**
 * An HTTP server that slow and malformed requests cannot hold up. What Node refuses by itself, with an empty answer, is
 * answered in the documented shape.
 * @param timeouts others than those of production, for tests
 */
export function createHttpServer(
  listener: RequestListener,
  newId: () => string,
  onRefused: RefusalObserver,
  timeouts = TIMEOUTS,
): Server {
  const refusal = (): Refusal => {
    const requestId = newId();
    return refusalOf(requestId, onRefused(requestId));
  };
  const answers = new WeakMap<Duplex, ServerResponse>();
  const receive: RequestListener = (req, res) => {
    answers.set(req.socket, res);
    if (req.httpVersion === '1.1' && req.headers.host === undefined) refuse(res, refusal());
    else listener(req, res);
  };
  const server = createServer({ ...timeouts, requireHostHeader: false }, receive);
  // Node's 417 is not in the contract; an expectation that is not known may be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', receive);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answer = answers.get(socket);
    const end = (): void => {
      if (!socket.writable) return void socket.destroy();
      socket.end(refusalText(refusal()));
      setTimeout(() => socket.destroy(), LINGER).unref();
    };
    // A whole request came before the malformed one: its answer goes first, and is not mixed with this one.
    const pending = answer && !answer.writableFinished && (answer.headersSent || answer.req.complete);
    if (error.code === 'ECONNRESET') socket.destroy();
    else if (pending) answer.once('finish', end);
    else end();
  });
  return server;
}

interface Refusal {
  readonly headers: Record<string, string | number>;
  readonly body: string;
}

/** There is no route yet, so this is the common shape, for the token endpoint too. */
function refusalOf(requestId: string, common: Readonly<Record<string, string>>): Refusal {
  const problem = new Problem('validation_failed', 'The HTTP request is malformed, too large or came too slowly.');
  const body = JSON.stringify(problemBody(problem, requestId));
  const headers = {
    ...common,
    'Content-Type': 'application/problem+json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    Connection: 'close',
  };
  return { headers, body };
}

function refuse(res: ServerResponse, { headers, body }: Refusal): void {
  res.writeHead(400, headers).end(body);
}

/** For a connection on which Node has no response object. */
function refusalText({ headers, body }: Refusal): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 400 ${STATUS_CODES[400]}`, ...lines, '', body].join('\r\n');
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
