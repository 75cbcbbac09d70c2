import type { RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Maximum of pipelined requests on a connection; clients need fewer, and each takes memory until its turn. */
const MAX_AHEAD = 100;

/** The current response of a connection, and the work that waits for it. */
interface Turns {
  current: ServerResponse;
  isOver: boolean;
  readonly ahead: (() => void)[];
}

/**
 * Serves the requests of a connection one after the other: each begins when the previous response has been sent. So
 * pipelined changes keep their order (RFC 9112 §9.3.2), and a connection holds only one response in memory.
 */
export function inTurns(listener: RequestListener) {
  const connections = new WeakMap<Duplex, Turns>();

  const serve: RequestListener = (req, res) => {
    const { socket } = req;
    const turns = connections.get(socket) ?? { current: res, isOver: false, ahead: [] };
    connections.set(socket, Object.assign(turns, { current: res, isOver: false }));
    res.once('close', () => {
      turns.isOver = true;
      // Drop the pipelined requests of a caller that has hung up.
      if (socket.writable) turns.ahead.shift()?.();
    });
    listener(req, res);
  };
  /** Whether a response is under way, to a request that is complete or whose response has begun. */
  const isBusy = (socket: Duplex): boolean => {
    const turns = connections.get(socket);
    return turns?.isOver === false && (turns.current.headersSent || turns.current.req.complete);
  };
  /** Runs the work after the responses to all earlier requests, at once if none is under way. */
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
