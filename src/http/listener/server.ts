import { createServer, STATUS_CODES, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Services } from '../../context.js';
import type { ProblemCode } from '../../contract.js';
import { Problem, problems } from '../../problem.js';
import { problemBody } from '../endpoint/errors.js';
import { inTurns } from './turns.js';

/** Milliseconds; slow connections are closed after these times, so that they cannot pile up. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 2_000,
  /** Without a byte of the response leaving: its reader keeps it in memory. */
  stallTimeout: 30_000,
};

/** Milliseconds for the other side to take the last response and to close; then the connection is cut. */
const LINGER_TIMEOUT_MS = 1_000;

/** Observes a request that never reached the application; returns the headers that every response has. */
export type RefusalObserver = (requestId: string, code: ProblemCode) => Readonly<Record<string, string>>;

/**
 * An HTTP server that slow, malformed and stalled requests cannot hold up. What Node refuses by itself, with an empty
 * response, gets the documented shape.
 * @param limits others than those of production, for tests
 */
export function createHttpServer(
  listener: RequestListener,
  newId: () => string,
  onRefused: RefusalObserver,
  { keepAliveTimeout, maxConnections }: Pick<Services['config'], 'keepAliveTimeout' | 'maxConnections'>,
  limits: Partial<typeof TIMEOUTS> = {},
): Server {
  const refusalOf = (problem: Problem) => {
    const requestId = newId();
    return toRefusal(problem, requestId, onRefused(requestId, problem.code));
  };
  const { receive, after, isBusy, latest } = inTurns((req, res) => {
    if (req.httpVersion !== '1.1' || req.headers.host !== undefined) return listener(req, res);
    const { status, headers, body } = refusalOf(malformed());
    res.writeHead(status, headers).end(body);
  });
  /** Responses that are under way go first, and are not mixed with the refusal. */
  const refuseConnection = (socket: Duplex, problem: Problem): void =>
    after(socket, () => {
      if (!socket.writable) return void socket.destroy();
      socket.end(refusalText(refusalOf(problem)));
      setTimeout(() => socket.destroy(), LINGER_TIMEOUT_MS).unref();
    });
  const { stallTimeout, ...timeouts } = { ...TIMEOUTS, ...limits };
  const server = createServer({ ...timeouts, keepAliveTimeout, requireHostHeader: false }, receive);
  server.maxConnections = maxConnections;
  // Node's clock starts again with each byte that leaves. A response that is still being made may take longer.
  server.setTimeout(stallTimeout, (socket) => {
    if (socket.writableLength > 0 || !isBusy(socket)) socket.destroy();
  });
  // Node's 417 is not in the contract; an expectation that is not known may be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', receive);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !awaitsResponse(socket, latest(socket))) socket.destroy();
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refuseConnection(socket, new Problem('request_timeout'));
    else refuseConnection(socket, malformed());
  });
  // From here on Node has left the connection to us: its errors, and a pending response, which would never go on.
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy()).resume();
    if (isBusy(socket)) socket.destroy();
    else refuseConnection(socket, new Problem('method_not_allowed', 'This service is not a proxy.'));
  });
  return server;
}

const malformed = (): Problem => new Problem('validation_failed', 'The HTTP request is malformed or too large.');

/**
 * Browsers open connections in advance: what is written onto one before it has sent anything is taken for the response
 * to its next request. The same holds once the request that is at fault has had its response.
 */
function awaitsResponse(socket: Duplex, last: ServerResponse | undefined): boolean {
  if (socket instanceof Socket && socket.bytesRead === 0) return false;
  return !(last?.writableFinished && !last.req.complete);
}

/** There is no route yet, so this is the common shape, for the token endpoint too. */
function toRefusal(problem: Problem, requestId: string, common: Readonly<Record<string, string>>) {
  const { status } = problems[problem.code];
  const body = JSON.stringify(problemBody(problem, requestId));
  const headers = {
    ...common,
    'Content-Type': 'application/problem+json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    Connection: 'close',
    // RFC 9110 §15.5.6 demands it, empty when the target takes no method.
    ...(status === 405 ? { Allow: '' } : {}),
  };
  return { status, headers, body };
}

/** For a connection on which Node has no response object. */
function refusalText({ status, headers, body }: ReturnType<typeof toRefusal>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n');
}
