import type { RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Requests that a connection may send ahead; no client needs more, and each takes memory until its turn. */
const MAX_AHEAD = 100;

/** What a connection does now, and what it does after that. */
interface Turns {
  current: ServerResponse;
  isOver: boolean;
  readonly ahead: (() => void)[];
}

/**
 * Serves the requests of a connection one after the other: each begins when the response to the one before has left.
 * Pipelined changes so happen in their order (RFC 9112 §9.3.2), and a connection holds one response in memory.
 */
export function inTurns(listener: RequestListener) {
  const connections = new WeakMap<Duplex, Turns>();

  const serve: RequestListener = (req, res) => {
    const { socket } = req;
    const turns = connections.get(socket) ?? { current: res, isOver: false, ahead: [] };
    connections.set(socket, Object.assign(turns, { current: res, isOver: false }));
    res.once('close', () => {
      turns.isOver = true;
      // A caller that has gone gets nothing more done.
      if (socket.writable) turns.ahead.shift()?.();
    });
    listener(req, res);
  };
  /** Whether a response is still under way, to a request that is complete or has been answered. */
  const isBusy = (socket: Duplex): boolean => {
    const turns = connections.get(socket);
    return turns?.isOver === false && (turns.current.headersSent || turns.current.req.complete);
  };
  /** Does it when every request before it has its response: at once if there is none. */
  const after = (socket: Duplex, work: () => void): void => {
    if (isBusy(socket)) connections.get(socket)?.ahead.push(work);
    else work();
  };
  const receive: RequestListener = (req, res) => {
    const turns = connections.get(req.socket);
    if (!turns || turns.isOver) serve(req, res);
    else if (turns.ahead.length < MAX_AHEAD) turns.ahead.push(() => serve(req, res));
    else req.socket.destroy();
  };
  return { receive, after, isBusy, latest: (socket: Duplex) => connections.get(socket)?.current };
}
