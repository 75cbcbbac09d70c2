import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import type { SocketAddress } from '../../src/config.js';
import { portOf } from './fileHost.js';

/** The harmless file that every scanner reports (EICAR); in two parts, so that none reports this one. */
export const eicar = ['X5O!P%@AP[4\\PZX54(P^)7CC)7}$', 'EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*'].join('');

/** What a clamd does with each new connection. */
export type Behaviour = (socket: Socket) => void;

/** A server that speaks the part of clamd's protocol that we use (clamd(8)), or pretends to. */
export interface FakeClamd {
  readonly address: SocketAddress;
  /** As CLAMAV_ADDRESS wants it. */
  readonly setting: string;
  /** Every file that was sent to its end, byte for byte. */
  readonly scanned: readonly Buffer[];
  connections(): number;
  openConnections(): number;
  /** From now on; `undefined` is what a clamd that works does. */
  behave(behaviour: Behaviour | undefined): void;
  close(): Promise<void>;
}

export interface FakeClamdOptions {
  /** Absolute path of a Unix socket; otherwise TCP on 127.0.0.1 at a free port. */
  readonly path?: string;
  /** clamd's StreamMaxLength, in bytes. */
  readonly maxLength?: number;
}

/** Starts a clamd that finds EICAR, and nothing else. */
export async function startFakeClamd({ path, maxLength = Infinity }: FakeClamdOptions = {}): Promise<FakeClamd> {
  const scanned: Buffer[] = [];
  const open = new Set<Socket>();
  const working: Behaviour = (socket) => {
    answerCommand(socket, maxLength, scanned);
  };
  let behaviour = working;
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    open.add(socket);
    socket
      .on('error', () => undefined)
      .on('close', () => {
        open.delete(socket);
      });
    behaviour(socket);
  });
  if (path === undefined) server.listen(0, '127.0.0.1');
  else server.listen(path);
  await once(server, 'listening');
  const address = path === undefined ? { host: '127.0.0.1', port: portOf(server.address()) } : { path };
  return {
    address,
    setting: path ?? `127.0.0.1:${portOf(server.address())}`,
    scanned,
    connections: () => connections,
    openConnections: () => open.size,
    behave(wanted) {
      behaviour = wanted ?? working;
      // Who does not read does not notice either that the other side has gone.
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

/** One command a connection, as clamd has it outside of a session; it hangs up after the answer. */
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

/** Takes a whole file like a clamd, and then does something else than clamd. */
export function afterTheFile(act: Behaviour): Behaviour {
  return (socket) => {
    let last = Buffer.alloc(0);
    socket.on('data', (data) => {
      last = Buffer.concat([last, data]).subarray(-4);
      if (last.equals(Buffer.alloc(4))) act(socket);
    });
  };
}
