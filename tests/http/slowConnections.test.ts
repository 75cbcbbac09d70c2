import type { Server } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createApp } from '../../src/app.js';
import { drain, listen } from '../../src/http/listener/listen.js';
import { createHttpServer } from '../../src/http/listener/server.js';
import { newPartner } from '../support/factories.js';
import { startHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { jsonHeaders, openConnection, requestBytes, type RawConnection } from '../support/rawHttp.js';

/** Milliseconds: shorter than in production, so that tests can wait for them. */
const timeouts = { headersTimeout: 1_000, requestTimeout: 1_500, connectionsCheckingInterval: 50 };
const connections = { keepAliveTimeout: 1_000, maxConnections: 1_000 };

const harness = await startHarness();
const partner = await newPartner(harness);
const app = await createApp(harness.services);
const server = createHttpServer(app, connections, timeouts);
/** The same service behind a server with short timeouts. */
const hasty = { server, baseUrl: `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}` };

afterAll(async () => {
  await drain(hasty.server, 1_000);
  await harness.close();
});

/** Sends the text at intervals until the connection closes. */
function drip({ socket }: RawConnection, text: string, everyMs = 20): void {
  const timer = setInterval(() => socket.write(text), everyMs);
  socket.once('close', () => clearInterval(timer));
}

const openConnections = (server: Server): Promise<number> => promisify(server.getConnections.bind(server))();

/** Asserts a closed connection with one answer, which Node sends without a body. */
async function expectRefused(connection: RawConnection, status: number): Promise<void> {
  expect(await connection.closed()).toMatchObject([{ status, text: '', headers: { connection: 'close' } }]);
}

const head = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
const post = (...framing: [string, string]): Buffer =>
  requestBytes({ method: 'POST', target: '/clients', headers: jsonHeaders(partner.token, framing) });
/** A request with only the first byte of its body. */
const slowPost = (length: number): Buffer => Buffer.concat([post('Content-Length', String(length)), Buffer.from('{')]);
const failures = () => harness.logged.filter(({ msg }) => msg === 'request failed');

it('the production settings allow 10 s for headers, 15 s for a request, 65 s of idling and 5,000 connections', () => {
  expect(harness.server).toMatchObject({
    headersTimeout: 10_000,
    requestTimeout: 15_000,
    keepAliveTimeout: 65_000,
    connectionsCheckingInterval: 2_000,
    maxConnections: 5_000,
  });
});

describe('a slow request', () => {
  const count = () => harness.domain.db.prisma.patient.count({ where: { tenantId: partner.tenantId } });

  it.each<[string, () => string | Buffer, string]>([
    ['headers arrive too slowly', () => `${head}X-Slow: `, 'a'],
    ['body arrives too slowly', () => slowPost(100_000), ' '],
    ['body never ends', () => post('Transfer-Encoding', 'chunked'), `4000\r\n${' '.repeat(0x4000)}\r\n`],
  ])('gets 408 and a closed connection when its %s, and creates no patient', async (_fault, start, rest) => {
    const before = await count();
    const connection = await openConnection(hasty);
    connection.socket.write(start());
    drip(connection, rest);
    await expectRefused(connection, 408);
    expect(failures()).toEqual([]);
    expect(await count()).toBe(before);
  });
});

it('the service closes an idle keep-alive connection without a second response', async () => {
  const connection = await openConnection(hasty);
  connection.socket.write(`${head}\r\n`);
  expect(await connection.answer()).toMatchObject({ status: 200, headers: { connection: 'keep-alive' } });
  expect(await connection.closed()).toHaveLength(1);
});

describe('a half-closed connection', () => {
  const halfClosed = async (bytes: string | Buffer): Promise<RawConnection> => {
    const connection = await openConnection(hasty);
    connection.socket.end(bytes);
    return connection;
  };

  it('gets the response to its request, and is closed without a response if it has sent none', async () => {
    const answersTo = async (bytes: string) => (await halfClosed(bytes)).closed();
    expect(await answersTo(`${head}\r\n`)).toMatchObject([{ status: 200, complete: true }]);
    expect(await answersTo('')).toEqual([]);
  });

  it('gets 400 when it ends in the middle of its headers or its body', async () => {
    for (const start of [head, slowPost(100)]) await expectRefused(await halfClosed(start), 400);
  });
});

it('the service closes a connection with unfinished headers although the client keeps its side open', async () => {
  const { port } = new URL(hasty.baseUrl);
  const socket = connect({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true });
  socket.write(head);
  socket.on('error', () => undefined).resume();
  await new Promise((resolve) => socket.once('end', resolve));
  while ((await openConnections(hasty.server)) > 0) await delay(20);
  socket.destroy();
});

describe('two hundred slow connections', () => {
  const connectSlowly = (server: { baseUrl: string }) =>
    Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const connection = await openConnection(server);
        connection.socket.write(index % 2 === 0 ? `${head}X-Slow: ` : slowPost(100_000));
        return connection;
      }),
    );

  it('do not keep other clients from getting 200', async () => {
    const slow = await connectSlowly(harness);
    const list = () => call(harness, 'GET /clinics', { token: partner.token });
    const answers = await Promise.all(Array.from({ length: 20 }, list));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(slow.flatMap((connection) => connection.answers())).toEqual([]);
    for (const { socket } of slow) socket.destroy();
  });

  it('all get 408 and are closed', async () => {
    const slow = await connectSlowly(hasty);
    for (const connection of slow) drip(connection, 'a', 100);
    for (const connection of slow) await expectRefused(connection, 408);
    expect((await call(hasty, 'GET /healthz')).status).toBe(200);
  });
});

describe('malformed HTTP', () => {
  const postHead = 'POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';

  it.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an unknown version', 'GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['the start of TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\r\n\r\n'],
    ['a blank in a header name', `${head}X Y: 1\r\n\r\n`],
    ['a NUL in a header', `${head}X-Y: a\u0000b\r\n\r\n`],
    ['a bad chunk', `${postHead}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`],
    ['a chunk longer than it says', `${postHead}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`],
    ['two lengths at once', `${postHead}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${head}\r\n`],
    ['two lengths', `${postHead}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['a negative length', `${postHead}Content-Length: -1\r\n\r\n`],
    ['an endless length', `${postHead}Content-Length: ${'9'.repeat(40)}\r\n\r\n`],
    ['an unknown transfer encoding', `${postHead}Transfer-Encoding: gzip\r\n\r\n{}`],
  ])('gets 400 and a closed connection: %s', async (_what, bytes) => {
    const connection = await openConnection(harness);
    connection.socket.write(Buffer.from(bytes, 'latin1'));
    await expectRefused(connection, 400);
    expect((await call(harness, 'GET /healthz')).status).toBe(200);
    expect(failures()).toEqual([]);
  });

  it('gets 400 and a closed connection without a Host (RFC 9112 §3.2)', async () => {
    const connection = await openConnection(harness);
    connection.socket.write('GET /healthz HTTP/1.1\r\n\r\n');
    const [refused] = await connection.closed();
    expect(refused).toMatchObject({ status: 400, text: '' });
  });

  it('gets 431 and a closed connection for headers of more than 16 KiB', async () => {
    for (const headers of [`X-Y: ${'a'.repeat(16 * 1024)}\r\n`, `X-Y: ${'a'.repeat(100)}\r\n`.repeat(160)]) {
      const connection = await openConnection(harness);
      connection.socket.write(`${head}${headers}\r\n`);
      await expectRefused(connection, 431);
    }
  });
});

it('CONNECT closes the connection, and the service continues when its client hangs up or keeps sending', async () => {
  const connectRequest = 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n';
  const [gone, busy] = [await openConnection(harness), await openConnection(harness)];
  gone.socket.write(connectRequest, () => gone.socket.resetAndDestroy());
  busy.socket.write(`${connectRequest}${'x'.repeat(1_000_000)}`);
  expect(await Promise.all([gone.closed(), busy.closed()])).toEqual([[], []]);
  expect((await call(harness, 'GET /healthz')).status).toBe(200);
});
