import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { SocketAddress } from '../../src/config.js';
import { listenOnLoopback } from './fileHost.js';

/** The harmless file that every scanner reports (EICAR); split, so that scanners do not report this source. */
export const eicar = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');

/** The reaction of a clamd to a new connection. */
export type Behavior = (socket: Socket) => void;

/** A server that speaks the part of clamd's protocol that the service uses (clamd(8)), or misbehaves. */
export interface FakeClamd {
  readonly address: SocketAddress;
  /** As CLAMAV_ADDRESS wants it. */
  readonly setting: string;
  /** The content of every file that was sent completely. */
  readonly scanned: readonly Buffer[];
  connections(): number;
  openConnections(): number;
  /** Sets the behavior for new connections; `undefined` restores a working clamd. */
  behave(behavior: Behavior | undefined): void;
  close(): Promise<void>;
}

export interface FakeClamdOptions {
  /** Absolute path of a Unix socket; otherwise TCP on 127.0.0.1 at a free port. */
  readonly path?: string;
  /** clamd's StreamMaxLength, in bytes. */
  readonly maxLength?: number;
}

/** Starts a clamd that finds only EICAR. */
export async function startFakeClamd({ path, maxLength = Infinity }: FakeClamdOptions = {}): Promise<FakeClamd> {
  const scanned: Buffer[] = [];
  const open = new Set<Socket>();
  const working: Behavior = (socket) => answerCommand(socket, maxLength, scanned);
  let behavior = working;
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    behavior(socket);
  });
  const port = path === undefined ? await listenOnLoopback(server) : 0;
  if (path !== undefined) await once(server.listen(path), 'listening');
  return {
    address: path === undefined ? { host: '127.0.0.1', port } : { path },
    setting: path ?? `127.0.0.1:${port}`,
    scanned,
    connections: () => connections,
    openConnections: () => open.size,
    behave(wanted) {
      behavior = wanted ?? working;
      // A paused socket does not notice that the other side has closed.
      for (const socket of open) socket.resume();
    },
    async close() {
      for (const socket of open) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

/** Answers one command and closes the connection, as clamd does outside of a session. */
function answerCommand(socket: Socket, maxLength: number, scanned: Buffer[]): void {
  let received = Buffer.alloc(0);
  let inStream = false;
  const chunks: Buffer[] = [];
  socket.on('data', (data) => {
    received = Buffer.concat([received, data]);
    if (!inStream) {
      const end = received.indexOf('\0');
      if (end < 0) return;
      const command = received.toString('latin1', 0, end);
      received = received.subarray(end + 1);
      if (command === 'zPING') socket.end('PONG\0');
      else if (command === 'zINSTREAM') inStream = true;
      else socket.end('UNKNOWN COMMAND\0');
    }
    while (inStream && received.length >= 4 && received.length >= 4 + received.readUInt32BE()) {
      const length = received.readUInt32BE();
      if (length === 0) {
        const content = Buffer.concat(chunks);
        scanned.push(content);
        socket.end(content.includes(eicar) ? 'stream: Eicar-Signature FOUND\0' : 'stream: OK\0');
        return;
      }
      chunks.push(received.subarray(4, 4 + length));
      received = received.subarray(4 + length);
      if (chunks.reduce((sum, chunk) => sum + chunk.length, 0) > maxLength) {
        inStream = false;
        socket.end('INSTREAM size limit exceeded. ERROR\0');
      }
    }
  });
}

/** Reads a whole file like clamd, then acts instead of answering. */
export function afterTheFile(act: Behavior): Behavior {
  return (socket) => {
    let last = Buffer.alloc(0);
    socket.on('data', (data) => {
      last = Buffer.concat([last, data]).subarray(-4);
      if (last.equals(Buffer.alloc(4))) act(socket);
    });
  };
}
