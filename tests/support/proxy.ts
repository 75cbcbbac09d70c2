import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { listenOnLoopback } from './fileHost.js';

/** @returns the number of bytes that still pass before the client's end is reset; null passes the whole chunk */
type Watch = (chunk: Buffer, from: 'client' | 'server') => number | null;

/** A proxy that can interrupt connections to a running server. */
export interface Proxy {
  /** The address of the server through the proxy. */
  readonly url: string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts connections and forwards no data, like a host that hangs. */
  hang(): void;
  /** Ends every connection and passes new ones to this function. */
  divert(onConnection: (socket: Socket) => unknown): void;
  /** Passes each chunk to a function that may reset its connection (RST) at any byte; null stops this. */
  watch(watch: Watch | null): void;
  /** Passes each chunk this many milliseconds later. */
  slow(ms: number): void;
  /** Forwards new connections to another server, as after the promotion of a standby. */
  retarget(serverUrl: string): void;
  /** Forwards connections again at the same address. */
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1 in front of a server on this machine. */
export async function startProxy(serverUrl: string): Promise<Proxy> {
  let target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let diverted: ((socket: Socket) => unknown) | undefined;
  let watching: Watch | null = null;
  let latency = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    // The `close` handlers below close the other end, so the error itself is irrelevant.
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const server = createServer((inner) => {
    keep(inner);
    if (diverted) return void diverted(inner);
    const outer = connect(Number(target.port), target.hostname);
    keep(outer);
    const watched = (from: 'client' | 'server') =>
      new Transform({
        transform(chunk: Buffer, _encoding, done) {
          const passing = watching?.(chunk, from) ?? null;
          if (passing === null) return latency > 0 ? void setTimeout(done, latency, null, chunk) : done(null, chunk);
          (from === 'client' ? outer : inner).write(chunk.subarray(0, passing));
          inner.resetAndDestroy();
          // end() sends the passing bytes before it closes.
          outer.end();
        },
      });
    inner.pipe(watched('client')).pipe(outer);
    outer.pipe(watched('server')).pipe(inner);
    inner.once('close', () => outer.destroy());
    outer.once('close', () => inner.destroy());
  });
  const port = await listenOnLoopback(server);
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${port}`;
  const endAll = (): void => sockets.forEach((socket) => socket.destroy());
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    endAll();
    await once(server, 'close');
  };
  return {
    url: url.href,
    cut,
    hang() {
      diverted = () => undefined;
      sockets.forEach((socket) => socket.unpipe().pause());
    },
    divert(onConnection) {
      diverted = onConnection;
      endAll();
    },
    watch(watch) {
      watching = watch;
    },
    slow(ms) {
      latency = ms;
    },
    retarget(other) {
      target = new URL(other);
    },
    async mend() {
      diverted = undefined;
      endAll();
      if (!server.listening) await listenOnLoopback(server, port);
    },
    close: cut,
  };
}
