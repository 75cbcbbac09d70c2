import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface SlowReaderLimits {
  /** Milliseconds without a byte leaving after which a connection is cut. */
  readonly stallTimeout: number;
  /** Bytes that all responses together may have waiting; beyond it the connections that stand still longest are cut. */
  readonly maxUnsent: number;
}

interface Reader {
  responses: ServerResponse[];
  unsent: number;
  /** What was on its way at the last look; another number is progress. */
  queued: number;
  /** When it last made progress. */
  since: number;
}

/** Milliseconds between two looks: the service can produce some 20 MiB of lists meanwhile. */
const LOOK_INTERVAL_MS = 250;

/** Ends connections whose reader does not take the response: its bytes stay in memory until they have left. */
export function cutSlowReaders(server: Server, { stallTimeout, maxUnsent }: SlowReaderLimits): Server {
  const readers = new Map<Socket, Reader>();
  const add = (_req: unknown, response: ServerResponse): void => {
    const { socket } = response.req;
    const reader = readers.get(socket);
    if (reader) return void reader.responses.push(response);
    readers.set(socket, { responses: [response], unsent: 0, queued: 0, since: 0 });
    socket.once('close', () => readers.delete(socket));
  };
  const look = (): void => {
    const now = performance.now();
    for (const [socket, reader] of readers) measure(socket, reader, now);
    const waiting = [...readers].filter(([, { unsent }]) => unsent > 0).sort(([, a], [, b]) => a.since - b.since);
    let total = waiting.reduce((sum, [, { unsent }]) => sum + unsent, 0);
    for (const [socket, { unsent, since }] of waiting) {
      if (total <= maxUnsent && now - since < stallTimeout) break;
      socket.destroy();
      total -= unsent;
    }
  };
  const timer = setInterval(look, LOOK_INTERVAL_MS).unref();
  return server
    .on('request', add)
    .on('checkExpectation', add)
    .once('close', () => clearInterval(timer));
}

function measure(socket: Socket, reader: Reader, now: number): void {
  reader.responses = reader.responses.filter(({ writableFinished }) => !writableFinished);
  // Of pipelined responses, those that are not the first one have theirs outside of the socket.
  reader.unsent = reader.responses.reduce((sum, { writableLength }) => sum + writableLength, 0);
  const queued = socket.writableLength + inSystem(socket);
  if (reader.unsent === 0 || queued !== reader.queued) Object.assign(reader, { queued, since: now });
}

/** What libuv has left of the write under way, as Node's own timeout sees it; `writableLength` counts all of it. */
function inSystem(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  return Number(Reflect.get(Object(handle), 'writeQueueSize') ?? 0);
}
