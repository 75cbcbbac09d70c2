import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { requestBytes, type RawRequest } from './rawHttp.js';

/** Sends the request up to the point of a hang-up; resolves when the exchange has reached it. */
type Phase = (socket: Socket, request: RawRequest) => Promise<unknown>;

const framed = (request: RawRequest, header: readonly [string, string], body?: string): RawRequest => ({
  ...request,
  headers: [...(request.headers ?? []), header],
  ...(body === undefined ? {} : { body }),
});
const send = (socket: Socket, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => socket.write(bytes, () => resolve()));
/** The end of the connection, by either side or by a reset. */
const over = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('close', resolve));
/** The first bytes of the response, or the end of the connection. */
const answered = (socket: Socket): Promise<unknown> =>
  Promise.race([new Promise((resolve) => socket.once('data', resolve)), over(socket)]);
const sendAnd = (change: (request: RawRequest) => RawRequest, wait: boolean): Phase =>
  async function (socket, request) {
    const first = answered(socket);
    await send(socket, requestBytes(change(request)));
    if (wait) await first;
  };
const whole = (request: RawRequest): RawRequest => request;
const head = (request: RawRequest): RawRequest => framed({ ...request, body: '' }, ['Content-Length', '100']);
const inBody = (request: RawRequest): RawRequest => framed(request, ['Content-Length', '300000'], '{"a":');
const chunked = (body: string) => (request: RawRequest) => framed(request, ['Transfer-Encoding', 'chunked'], body);
const expecting = (request: RawRequest): RawRequest => framed(head(request), ['Expect', '100-continue']);

export const phases: Readonly<Record<string, Phase>> = {
  'before the head': () => Promise.resolve(),
  'in the head': (socket, request) => send(socket, requestBytes(request).subarray(0, 40)),
  'after the head': sendAnd(head, false),
  'in the body': sendAnd(inBody, false),
  'in a chunk': sendAnd(chunked('ff\r\n{"a":'), false),
  'between chunks': sendAnd(chunked('5\r\n{"a":\r\n'), false),
  'before 100 Continue': sendAnd(expecting, false),
  'after 100 Continue': sendAnd(expecting, true),
  'before the response': sendAnd(whole, false),
  'in the response': sendAnd(whole, true),
  'in the response to an offered upgrade': sendAnd(
    (request) => framed(framed(request, ['Upgrade', 'websocket']), ['Connection', 'Upgrade']),
    true,
  ),
  'before the response to HEAD': sendAnd((request) => ({ ...request, method: 'HEAD' }), false),
  'in the response to a range': sendAnd((request) => framed(request, ['Range', 'bytes=5-']), true),
  'in pipelined responses': async (socket, request) => {
    const first = answered(socket);
    await send(socket, Buffer.concat(Array.from({ length: 5 }, () => requestBytes(request))));
    await first;
  },
  'in responses that it does not read': async (socket, request) => {
    socket.pause();
    await send(socket, Buffer.concat(Array.from({ length: 5 }, () => requestBytes(request))));
  },
};

/** Ways to hang up. */
export const endings: Readonly<Record<string, (socket: Socket) => unknown>> = {
  FIN: (socket) => socket.destroy(),
  RST: (socket) => socket.resetAndDestroy(),
  'half-close': (socket) => socket.resume().end(),
};

export interface HangUp {
  readonly phase: string;
  readonly ending: string;
}

export const hangUps: readonly HangUp[] = Object.keys(phases).flatMap((phase) =>
  Object.keys(endings).map((ending) => ({ phase, ending })),
);

/** Sends a request up to the phase, hangs up, and resolves when the connection has ended. */
export async function hangUp(origin: string, { phase, ending }: HangUp, request: RawRequest): Promise<void> {
  const { hostname, port } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined).on('data', () => undefined);
  const closed = over(socket);
  await once(socket, 'connect');
  await phases[phase]?.(socket, request);
  endings[ending]?.(socket);
  await closed;
}
