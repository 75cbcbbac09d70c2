import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { drain, listen } from '../../src/http/listener/listen.js';
import { createHttpServer } from '../../src/http/listener/server.js';

/** Larger than the system's buffers for a connection whose reader stalls. */
const body = Buffer.alloc(64 * 1024 ** 2, 'x');
const length = { 'Content-Length': body.length };

const inOnePiece: RequestListener = (_req, res) => void res.writeHead(200, length).end(body);
const asStream: RequestListener = (_req, res) => {
  const pieces = Array.from({ length: 1024 }, (_, index) => body.subarray(index * 65_536, (index + 1) * 65_536));
  Readable.from(pieces).pipe(res.writeHead(200, length));
};

let server: Server;
let clients: Socket[] = [];
afterEach(async () => {
  clients.forEach((client) => client.destroy());
  clients = [];
  await drain(server, 100);
});

async function serve(listener: RequestListener, stallTimeout = 60_000, maxConnections = 100): Promise<number> {
  const connections = { keepAliveTimeout: 60_000, maxConnections };
  server = createHttpServer(listener, connections, { stallTimeout });
  return listen(server, 0, '127.0.0.1');
}

/** A client that has sent requests, and does not read responses until it is resumed. */
async function stalledClient(port: number, requests = 1): Promise<Socket> {
  const client = connect(port, '127.0.0.1').on('error', () => undefined);
  clients.push(client);
  await once(client, 'connect');
  client.pause();
  if (requests > 0) {
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(requests));
    await once(server, 'request');
  }
  return client;
}

async function untilNoneIsOpen(): Promise<void> {
  while ((await promisify(server.getConnections.bind(server))()) > 0) await delay(20);
}

/** Reads some `perStep` bytes every 100 ms until the body is complete or the connection closes; returns the total. */
async function read(client: Socket, perStep: number): Promise<number> {
  let [total, pauseAt] = [0, perStep];
  client.on('data', (chunk: Buffer) => {
    total += chunk.length;
    if (total >= pauseAt) client.pause();
  });
  const timer = setInterval(() => {
    pauseAt = total + perStep;
    client.resume();
  }, 100);
  while (!client.destroyed && total < body.length) await delay(20);
  clearInterval(timer);
  return total;
}

describe('a connection with a slow reader', () => {
  it.each<[string, RequestListener, number]>([
    ['a response in one piece', inOnePiece, 1],
    ['a stream', asStream, 1],
    ['pipelined responses', inOnePiece, 3],
  ])('is closed when the reader stalls in %s', async (_what, listener, requests) => {
    const port = await serve(listener, 300);
    await stalledClient(port, requests);
    await untilNoneIsOpen();
  });

  it.each<[string, RequestListener]>([
    ['a response in one piece', inOnePiece],
    ['a stream', asStream],
  ])('stays open while the reader takes a little at a time of %s', async (_what, listener) => {
    const port = await serve(listener, 1_500);
    expect(await read(await stalledClient(port), 2 * 1024 ** 2)).toBeGreaterThanOrEqual(body.length);
  });

  it('stays open while the service prepares the response', async () => {
    const port = await serve((_req, res) => void delay(1_000).then(() => res.end('done')), 300);
    const client = (await stalledClient(port)).resume();
    const [chunk] = (await once(client, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 200 [\s\S]*done$/);
  });
});

describe('pipelined requests', () => {
  it('get their responses in order, although the second operation ends first', async () => {
    const port = await serve((req, res) => {
      if (req.url === '/1') return void server.once('second', () => res.end('first'));
      res.end('second');
      server.emit('second');
    });
    const client = await stalledClient(port, 0);
    client.write('GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const received = await text(client.resume());
    expect(received.match(/first|second/g)).toEqual(['first', 'second']);
  });

  it('are not read further while their responses are not read', async () => {
    let begun = 0;
    const port = await serve((_req, res) => {
      begun += 1;
      res.end(body.subarray(0, 65_536));
    }, 300);
    await stalledClient(port, 100_000);
    await untilNoneIsOpen();
    expect(begun).toBeLessThan(10_000);
  });
});

it('the service closes a connection above the maximum, and serves the others', async () => {
  const port = await serve((_req, res) => void res.end('done'), undefined, 2);
  const allowed = [await stalledClient(port), await stalledClient(port)];
  const refused = connect(port, '127.0.0.1').on('error', () => undefined);
  await once(refused.resume(), 'close');
  for (const client of allowed) expect(String(await once(client.resume(), 'data'))).toContain('done');
});
