import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { portOf } from './fileHost.js';

/** @returns how many bytes of the chunk still pass before both ends are reset; null lets all of it pass */
type Watch = (chunk: Buffer, from: 'client' | 'server') => number | null;

/** The way to a server, which can be cut while the server goes on. */
export interface Proxy {
  /** The server's address by way of the proxy. */
  readonly url: string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Takes connections and hands nothing on, as a host that hangs. */
  hang(): void;
  /** Ends every connection and does this with new ones. */
  divert(onConnection: (socket: Socket) => unknown): void;
  /** Sees each chunk from now on and may reset its connection (RST) at any byte; null ends it. */
  watch(watch: Watch | null): void;
  /** As before, at the same address. */
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1 in front of a server on this machine. */
export async function startProxy(serverUrl: string): Promise<Proxy> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let diverted: ((socket: Socket) => unknown) | undefined;
  let watching: Watch | null = null;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    // The other end is told by the pipe's end; why it failed is nobody's concern here.
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const server = createServer((inner) => {
    keep(inner);
    if (diverted) {
      diverted(inner);
      return;
    }
    const outer = connect(Number(target.port), target.hostname);
    keep(outer);
    const watched = (from: 'client' | 'server') =>
      new Transform({
        transform(chunk: Buffer, _encoding, done) {
          const passing = watching?.(chunk, from) ?? null;
          if (passing === null) return done(null, chunk);
          (from === 'client' ? outer : inner).write(chunk.subarray(0, passing));
          inner.resetAndDestroy();
          // The server is sent what passes, and only then sees the end.
          outer.end();
        },
      });
    inner.pipe(watched('client')).pipe(outer);
    outer.pipe(watched('server')).pipe(inner);
    inner.once('close', () => outer.destroy());
    outer.once('close', () => inner.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server.address());
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
    async mend() {
      diverted = undefined;
      endAll();
      if (server.listening) return;
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    close: cut,
  };
}
