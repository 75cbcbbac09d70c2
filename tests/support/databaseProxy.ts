import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { portOf } from './fileHost.js';

/** The way to a database, which can be cut while the database goes on. */
export interface DatabaseProxy {
  /** The database's address by way of the proxy. */
  readonly url: string;
  /** Ends every connection and refuses new ones. */
  cut(): Promise<void>;
  /** Takes connections and hands nothing on, as a host that hangs. */
  hang(): void;
  /** As before, at the same address. */
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1 in front of the database. */
export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let hanging = false;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    // The other end is told by the pipe's end; why it failed is nobody's concern here.
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  const server = createServer((inner) => {
    keep(inner);
    if (hanging) return;
    const outer = connect(Number(target.port), target.hostname);
    keep(outer);
    inner.pipe(outer).pipe(inner);
    inner.once('close', () => outer.destroy());
    outer.once('close', () => inner.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server.address());
  const url = new URL(databaseUrl);
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
      hanging = true;
      sockets.forEach((socket) => socket.unpipe().pause());
    },
    async mend() {
      hanging = false;
      endAll();
      if (server.listening) return;
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    close: cut,
  };
}
