import { createServer, STATUS_CODES, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Services } from '../../context.js';
import type { ProblemCode } from '../../contract.js';
import { Problem, problems } from '../../problem.js';
import { problemBody } from '../endpoint/errors.js';
import { inTurns } from './turns.js';

/** Milliseconds after which a slow connection is closed, so that slow connections cannot pile up. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 2_000,
  /** Limits the time in which no byte of a response leaves, because the response occupies memory meanwhile. */
  stallTimeout: 30_000,
};

/** Milliseconds that a caller has to read the last response and close before the connection is cut. */
const LINGER_TIMEOUT_MS = 1_000;

/** Called with a request that was refused before it reached the application. Returns headers for the refusal. */
export type RefusalObserver = (requestId: string, code: ProblemCode) => Readonly<Record<string, string>>;

/** Creates an HTTP server that withstands slow and malformed requests, and refuses them with a documented problem. */
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
  /** Sends the refusal after the responses that are under way, so that they are not mixed. */
  const refuseConnection = (socket: Duplex, problem: Problem): void =>
    after(socket, () => {
      if (!socket.writable) return void socket.destroy();
      socket.end(refusalText(refusalOf(problem)));
      setTimeout(() => socket.destroy(), LINGER_TIMEOUT_MS).unref();
    });
  const { stallTimeout, ...timeouts } = { ...TIMEOUTS, ...limits };
  const server = createServer({ ...timeouts, keepAliveTimeout, requireHostHeader: false }, receive);
  server.maxConnections = maxConnections;
  // Node restarts this timeout with each byte that leaves. An operation that is still running may take longer.
  server.setTimeout(stallTimeout, (socket) => {
    if (socket.writableLength > 0 || !isBusy(socket)) socket.destroy();
  });
  // Serve requests with an unknown expectation (RFC 9110 §10.1.1): Node's 417 is not in the contract.
  server.on('checkExpectation', receive);
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !awaitsResponse(socket, latest(socket))) socket.destroy();
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refuseConnection(socket, new Problem('request_timeout'));
    else refuseConnection(socket, malformed());
  });
  // For CONNECT, Node hands over the connection: handle its errors here, and cut it if a response is pending.
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy()).resume();
    if (isBusy(socket)) socket.destroy();
    else
      refuseConnection(
        socket,
        new Problem(
          'method_not_allowed',
          'CONNECT is not supported, because this service is not a proxy. Send other methods.',
        ),
      );
  });
  return server;
}

const malformed = (): Problem =>
  new Problem(
    'validation_failed',
    'The HTTP request is malformed, or its headers are too large. Send well-formed HTTP/1.1.',
  );

/**
 * Whether the caller awaits a response, so that a refusal may be written. Otherwise, before a request and after its
 * response, a browser would take the refusal for the response to its next request.
 */
function awaitsResponse(socket: Duplex, last: ServerResponse | undefined): boolean {
  if (socket instanceof Socket && socket.bytesRead === 0) return false;
  return !(last?.writableFinished && !last.req.complete);
}

/** The response to a refused request: always a problem, even at the token endpoint, because its route is not known. */
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
    // RFC 9110 §15.5.6 requires this header; it is empty if the target supports no method.
    ...(status === 405 ? { Allow: '' } : {}),
  };
  return { status, headers, body };
}

/** The response as text, for a connection on which Node has no response object. */
function refusalText({ status, headers, body }: ReturnType<typeof toRefusal>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n');
}
