import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Harness } from './harness.js';

/** A TCP connection to the service, for requests that no HTTP client sends. */
export interface RawConnection {
  readonly socket: Socket;
  /** Every answer so far, complete or not. */
  answers(): RawAnswer[];
  /** Resolves with the first answer once it is complete. */
  answer(): Promise<RawAnswer>;
  /** Resolves when the service has closed the connection, with every answer. */
  closed(): Promise<RawAnswer[]>;
}

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly complete: boolean;
}

/**
 * Connects to the service.
 * @param method `HEAD` if the answers announce a body without sending it
 */
export async function openConnection({ baseUrl }: Pick<Harness, 'baseUrl'>, method = 'GET'): Promise<RawConnection> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // The service may cut a refused upload while it is sent; the answer still arrives.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const answers = (): RawAnswer[] => parseAnswers(Buffer.concat(chunks), method !== 'HEAD');
  return {
    socket,
    answers,
    async answer() {
      for (;;) {
        const [first] = answers();
        if (first?.complete) return first;
        if (socket.closed)
          throw new Error(
            `The connection closed before a complete response: read such by closed(). Received: ${Buffer.concat(chunks).toString('latin1')}`,
          );
        await Promise.race([new Promise((resolve) => socket.once('data', resolve)), ended]);
      }
    },
    async closed() {
      await ended;
      return answers();
    },
  };
}

export interface RawRequest {
  readonly method?: string;
  /** The request target as it goes over the wire. */
  readonly target?: string;
  /** Added to Host, and by {@link rawCall} to Connection: close. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Sent with its Content-Length, unless the headers name one or Transfer-Encoding. */
  readonly body?: string | Uint8Array;
}

type RawHeader = readonly [name: string, value: string];

/** Headers of a JSON request with a token. */
export const jsonHeaders = (token: string, ...more: readonly RawHeader[]): readonly RawHeader[] => [
  ['Authorization', `Bearer ${token}`],
  ['Content-Type', 'application/json'],
  ...more,
];

/** Sends one request on a new connection; rejects unless it gets exactly one answer. */
export async function rawCall(harness: Pick<Harness, 'baseUrl'>, request: RawRequest): Promise<RawAnswer> {
  const connection = await openConnection(harness, request.method);
  connection.socket.write(requestBytes({ ...request, headers: [...(request.headers ?? []), ['Connection', 'close']] }));
  const [first, ...others] = await connection.closed();
  if (!first?.complete || others.length > 0)
    throw new Error(
      `${request.target ?? '/'} got no complete response, or several: use openConnection() to read these`,
    );
  return first;
}

/** Asserts a refusal in the documented shape. */
export function expectRawProblem({ status, headers, text }: RawAnswer, expected: number, code: string): void {
  expect(status).toBe(expected);
  expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
  expect(JSON.parse(text)).toMatchObject({
    type: `urn:clinical-encounter:problem:${code}`,
    code,
    status: expected,
    request_id: headers['x-request-id'],
  });
}

/** The bytes of a request. */
export function requestBytes({ method = 'GET', target = '/', headers = [], body }: RawRequest): Buffer {
  const framed = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const bytes = Buffer.from(body ?? '');
  const length: [string, string][] = body === undefined || framed ? [] : [['Content-Length', `${bytes.length}`]];
  const lines = [['Host', 'localhost'], ...headers, ...length].map(([name, value]) => `${name}: ${value}\r\n`);
  const start = `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(start, 'latin1'), bytes]);
}

/** Splits answers by their Content-Length. */
function parseAnswers(bytes: Buffer, withBody: boolean): RawAnswer[] {
  const end = bytes.indexOf('\r\n\r\n') + 4;
  if (end < 4) return [];
  const [statusLine = '', ...lines] = bytes
    .subarray(0, end - 4)
    .toString('latin1')
    .split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  if (status === 100) return parseAnswers(bytes.subarray(end), withBody);
  const length = withBody ? Number(headers['content-length'] ?? 0) : 0;
  const body = bytes.subarray(end, end + length);
  const answer = { status, headers, text: body.toString('utf8'), complete: body.length === length };
  return [answer, ...parseAnswers(bytes.subarray(end + length), withBody)];
}
