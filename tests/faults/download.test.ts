import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { globalAgent, request } from 'node:https';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createDownloader } from '../../src/adapters/download.js';
import type { Downloader, DownloaderOptions, RemoteFile } from '../../src/adapters/download.js';
import type { HostAddress, HostLookup } from '../../src/adapters/hostAddresses.js';
import { Problem } from '../../src/problem.js';
import { portOf, sampleFiles, startFileHost, tlsCertificate, tlsHostName } from '../support/fileHost.js';
import type { FileHost } from '../support/fileHost.js';

const mebibyte = 1024 * 1024;

async function readAll(file: RemoteFile): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const fetchWith = (download: Downloader, url: string, maxBytes = mebibyte) => download(url, { maxBytes }, readAll);

async function refusalOf(attempt: Promise<unknown>): Promise<Problem> {
  const outcome = await attempt.then(() => 'accepted', (error: unknown) => error);
  if (outcome instanceof Problem) return outcome;
  throw new Error(`Not refused by a Problem: ${String(outcome)}`);
}

const codeOf = async (attempt: Promise<unknown>) => (await refusalOf(attempt)).code;

/** Waits for a condition, at most three seconds. */
async function until(condition: () => boolean): Promise<void> {
  const giveUp = performance.now() + 3000;
  while (!condition()) {
    if (performance.now() > giveUp) throw new Error(`Not reached: ${condition.toString()}`);
    await setImmediate();
  }
}

let host: FileHost;
let download: Downloader;

const downloaderFor = (options: Partial<DownloaderOptions> = {}) =>
  createDownloader({ allowedHosts: [host.host], ...options });

beforeAll(async () => {
  host = await startFileHost();
  download = downloaderFor();
});
afterEach(() => until(() => host.openConnections() === 0));
afterAll(() => host.close());

describe('a fetched document', () => {
  it('is delivered byte for byte, with its types, size and checksum', async () => {
    const content = Buffer.concat([sampleFiles.pdf, Buffer.alloc(3 * mebibyte, 'health')]);
    const url = host.serve('/blood.pdf', { content, headers: { 'content-type': 'application/pdf; x=1' } });
    const { value, ...sums } = await download(url, { maxBytes: 4 * mebibyte }, async (file) => ({
      sniffedType: file.sniffedType, declaredType: file.declaredType, content: await readAll(file),
    }));
    expect(value.content.equals(content)).toBe(true);
    expect(value).toMatchObject({ sniffedType: 'application/pdf', declaredType: 'application/pdf; x=1' });
    expect(sums).toEqual({ sizeBytes: content.length, checksum: createHash('sha256').update(content).digest('hex') });
  });

  it('is asked for under our own name, uncompressed, without cookies, credentials or referrer', async () => {
    const target = host.serve('/second', { content: sampleFiles.png });
    const url = host.serve('/first', (_request, response) => {
      response.writeHead(302, { location: target, 'set-cookie': 'session=1; Path=/' }).end();
    });
    await fetchWith(download, url);
    for (const { headers } of host.requests.slice(-2)) {
      expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
      expect(headers).toMatchObject({
        'accept-encoding': 'identity', connection: 'close', 'user-agent': 'ClinicalEncounterService/1 (document fetch)',
      });
    }
  });

  it('is never unpacked', async () => {
    const content = gzipSync(Buffer.alloc(8 * mebibyte));
    const url = host.serve('/bomb', { content, headers: { 'content-encoding': 'gzip', 'content-type': 'application/pdf' } });
    const { value, sizeBytes } = await download(url, { maxBytes: mebibyte }, async (file) => {
      await readAll(file);
      return file.sniffedType;
    });
    expect([value, sizeBytes]).toEqual(['application/gzip', content.length]);
  });

  it('is fetched after up to three redirects and not after a fourth', async () => {
    host.serve('/hop0', { content: sampleFiles.jpeg });
    for (const [hop, status] of [[1, 301], [2, 303], [3, 307], [4, 308]] as const) {
      host.serve(`/hop${hop}`, (_request, response) => { response.writeHead(status, { location: `hop${hop - 1}` }).end(); });
    }
    await expect(fetchWith(download, `http://${host.host}/hop3`)).resolves.toMatchObject({ sizeBytes: sampleFiles.jpeg.length });
    expect(await codeOf(fetchWith(download, `http://${host.host}/hop4`))).toBe('document_fetch_failed');
  });

  it('closes the connection and passes the reason when the reader fails', async () => {
    const url = host.serve('/unwanted', endless);
    await expect(download(url, { maxBytes: mebibyte }, () => Promise.reject(new Error('disk full')))).rejects.toThrow('disk full');
    await expect(download(url, { maxBytes: mebibyte }, async () => 'not read')).rejects.toThrow('not read to its end');
  });

  it('may be read slowly: only the server’s silence counts as a stall', async () => {
    const url = host.serve('/patience', { content: Buffer.alloc(mebibyte) });
    const patient = downloaderFor({ stallTimeout: 100 });
    const { sizeBytes } = await patient(url, { maxBytes: mebibyte }, async (file) => {
      await setTimeout(250);
      await readAll(file);
    });
    expect(sizeBytes).toBe(mebibyte);
  });

  it('is not fetched through a proxy of the environment', async () => {
    const proxy = await startFileHost();
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy', 'NODE_USE_ENV_PROXY'];
    try {
      for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://${proxy.host}`;
      await fetchWith(downloaderFor(), host.serve('/direct', { content: sampleFiles.png }));
      expect(proxy.connections()).toBe(0);
    } finally {
      for (const name of names) delete process.env[name];
      await proxy.close();
    }
  });
});

/** Sends as fast as the connection takes it, until it is closed. */
function endless(_request: unknown, response: ServerResponse): void {
  const chunk = Buffer.alloc(65_536, 1);
  const send = () => { while (!response.destroyed && response.write(chunk)); };
  response.on('drain', send);
  send();
}

describe('a document of the wrong size', () => {
  it.each([
    ['no bytes', 200],
    ['no content by status', 204],
  ])('is empty: %s', async (name, status) => {
    const url = host.serve(`/empty-${status}`, (_request, response) => { response.writeHead(status).end(); });
    expect([name, await codeOf(fetchWith(download, url))]).toEqual([name, 'document_empty']);
  });

  it('is refused by its Content-Length before anything is read', async () => {
    let sent = 0;
    const url = host.serve('/declared', (_request, response) => {
      response.writeHead(200, { 'content-length': String(mebibyte + 1) }).flushHeaders();
      response.on('close', () => { sent = response.socket?.bytesWritten ?? 0; });
    });
    expect(await codeOf(fetchWith(download, url))).toBe('document_too_large');
    expect(sent).toBeLessThan(1000);
  });

  it('is accepted at the limit and cut one byte above it, whatever Content-Length says', async () => {
    const limit = 20 * mebibyte;
    const chunked = (size: number) => (_request: unknown, response: ServerResponse) => {
      response.write(Buffer.alloc(size - 1));
      response.end('x');
    };
    const count = async (file: RemoteFile) => { for await (const chunk of file.body) expect(chunk.length).toBeLessThan(mebibyte); };
    const full = await download(host.serve('/full', chunked(limit)), { maxBytes: limit }, count);
    expect(full.sizeBytes).toBe(limit);
    expect(await codeOf(download(host.serve('/over', chunked(limit + 1)), { maxBytes: limit }, count))).toBe('document_too_large');
    expect(await codeOf(fetchWith(download, host.serve('/endless', endless)))).toBe('document_too_large');
  });
});

describe('a server that does not deliver', () => {
  it.each([300, 304, 400, 401, 403, 404, 410, 418, 500, 503, 206])('answers %i', async (status) => {
    const url = host.serve(`/status-${status}`, (_request, response) => { response.writeHead(status).end(); });
    const refusal = await refusalOf(fetchWith(download, url));
    expect([refusal.code, refusal.message]).toEqual(['document_fetch_failed', 'The URL did not deliver the file in time.']);
  });

  it.each([[404, {}], [302, { location: '/landing' }], [302, {}], [500, {}]])(
    'can’t make us read the endless body of a %i', async (status, headers) => {
      let sent = Infinity;
      host.serve('/landing', { content: sampleFiles.png });
      const url = host.serve(`/flood-${status}`, (httpRequest, response) => {
        const { socket } = httpRequest;
        response.writeHead(status, headers);
        response.on('close', () => { sent = socket.bytesWritten; });
        endless(httpRequest, response);
      });
      await fetchWith(download, url).catch(() => undefined);
      await until(() => host.openConnections() === 0);
      expect(sent).toBeLessThan(16 * mebibyte);
    });

  it.each([
    ['sends no headers', () => undefined],
    ['stops after the headers', (response: ServerResponse) => { response.writeHead(200).flushHeaders(); }],
    ['stops in the middle', (response: ServerResponse) => { response.write(Buffer.alloc(50_000)); }],
  ])('is given up when it %s', async (name, answer) => {
    const url = host.serve(`/${encodeURIComponent(name)}`, (_request, response) => { answer(response); });
    expect(await codeOf(fetchWith(downloaderFor({ stallTimeout: 100 }), url))).toBe('document_fetch_failed');
  });

  it('is given up after the total time, however steadily it drips and redirects', async () => {
    const drip = host.serve('/drip', (_request, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => { clearInterval(timer); });
    });
    const url = host.serve('/to-drip', (_request, response) => { response.writeHead(302, { location: drip }).end(); });
    const started = performance.now();
    expect(await codeOf(fetchWith(downloaderFor({ totalTimeout: 400, stallTimeout: 200 }), url))).toBe('document_fetch_failed');
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it.each([
    ['closes at once', ''],
    ['speaks another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n%PDF-1.4'],
    ['breaks off in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%PDF-\r\n'],
    ['sends a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%PDF-\r\nzz\r\n'],
    ['sends two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n%PDF-'],
    ['sends a length and chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n'],
    ['sends a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n%PDF-'],
    ['sends an absurd length', 'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n%PDF-'],
    ['sends more than it said', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n%PDF-1.4 and more'],
    ['sends a body with 304', 'HTTP/1.1 304 Not Modified\r\n\r\nbody'],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nxxxx'],
    ['sends 10 000 headers', `HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(10_000)}\r\n%PDF-`],
    ['sends an endless header', `HTTP/1.1 200 OK\r\nx-a: ${'b'.repeat(100_000)}`],
    ['redirects to nowhere', 'HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'],
  ])('can’t do harm when it %s', async (_name, answer) => {
    for (const split of [false, true]) {
      const server = await startRawServer(answer, split);
      const impatient = createDownloader({ allowedHosts: [server.host], stallTimeout: 300 });
      expect(await codeOf(fetchWith(impatient, `http://${server.host}/a.pdf`))).toBe('document_fetch_failed');
      await until(() => server.openConnections() === 0);
    }
  });

  it('is given up when it accepts the connection and never greets (TLS)', async () => {
    const server = await startRawServer(undefined, false);
    const impatient = createDownloader({ allowedHosts: [server.host], connectTimeout: 100 });
    expect(await codeOf(fetchWith(impatient, `https://${server.host}/`))).toBe('document_fetch_failed');
  });

  it('is given up when it never takes the connection', async () => {
    const server = await startDeafServer();
    const impatient = createDownloader({ allowedHosts: [server.host], connectTimeout: 100 });
    const started = performance.now();
    expect(await codeOf(fetchWith(impatient, `http://${server.host}/`))).toBe('document_fetch_failed');
    expect(performance.now() - started).toBeLessThan(5000);
  });

  it('is given up when DNS never tells its address', async () => {
    const lookup: HostLookup = async (_name, signal) => {
      await once(signal, 'abort');
      throw signal.reason;
    };
    expect(await codeOf(fetchWith(downloaderFor({ lookup, connectTimeout: 100 }), 'https://files.example.com/')))
      .toBe('document_fetch_failed');
  });

  it('is one that nobody listens for, or whose name has no address', async () => {
    const closed = await startRawServer('', false);
    closed.close();
    expect(await codeOf(fetchWith(createDownloader({ allowedHosts: [closed.host] }), `http://${closed.host}/`)))
      .toBe('document_fetch_failed');
    const nameless = downloaderFor({ connectTimeout: 1000 });
    expect(await codeOf(fetchWith(nameless, 'https://no-such-host.invalid/a.pdf'))).toBe('document_fetch_failed');
  });
});

/**
 * Speaks plain TCP: answers the first bytes of a connection, in one piece or head and body apart. It then hangs up,
 * except after switching protocols and when it says nothing at all (undefined).
 */
async function startRawServer(answer: string | undefined, split: boolean) {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => { open.delete(socket); });
    socket.once('data', () => {
      if (answer === undefined) return;
      const end = answer.indexOf('\r\n\r\n') + 4;
      if (answer.includes(' 101 ')) socket.write(answer);
      else if (!split || end < 4) socket.end(answer);
      else socket.write(answer.slice(0, end), () => { socket.end(answer.slice(end)); });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  rawServers.push(close);
  return { host: `127.0.0.1:${portOf(server.address())}`, openConnections: () => open.size, close };
}

/** Listens, but its queue is full and its process sleeps: the kernel answers no further connection. */
async function startDeafServer(): Promise<{ host: string }> {
  const program = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    require('node:fs').writeSync(1, String(this.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [printed]: unknown[] = await once(child.stdout, 'data');
  const port = Number(String(printed));
  const queue = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  rawServers.push(() => {
    for (const socket of queue) socket.destroy();
    child.kill('SIGKILL');
  });
  await Promise.all(queue.slice(0, 2).map((socket) => once(socket, 'connect')));
  return { host: `127.0.0.1:${port}` };
}

/** Servers end with the file, also when a test fails. */
const rawServers: (() => void)[] = [];
afterAll(() => { for (const close of rawServers) close(); });

describe('https', () => {
  let secure: FileHost;
  const loopback: HostAddress = { address: '127.0.0.1', family: 4 };
  const secureDownloader = (options: Partial<DownloaderOptions> = {}) =>
    createDownloader({ allowedHosts: [secure.host], ca: tlsCertificate, lookup: async () => [loopback], ...options });

  beforeAll(async () => { secure = await startFileHost({ tls: true }); });
  afterAll(() => secure.close());

  it('checks the certificate against the name, though the connection goes to the checked address', async () => {
    const url = secure.serve('/a.png', { content: sampleFiles.png });
    await expect(fetchWith(secureDownloader(), url)).resolves.toMatchObject({ sizeBytes: sampleFiles.png.length });
    const otherName = secure.host.replace(tlsHostName, 'other.example.com');
    const wrongName = secureDownloader({ allowedHosts: [otherName] });
    expect(await codeOf(fetchWith(wrongName, `https://${otherName}/a.png`))).toBe('document_fetch_failed');
  });

  it('refuses a certificate that nobody vouches for', async () => {
    const { ca: _ca, ...options } = { ca: '', allowedHosts: [secure.host], lookup: async () => [loopback] };
    expect(await codeOf(fetchWith(createDownloader(options), `https://${secure.host}/a.png`))).toBe('document_fetch_failed');
  });

  it('asks DNS once for each hop: an answer that changes afterwards changes nothing', async () => {
    const answers: HostAddress[] = [loopback, { address: '127.0.0.2', family: 4 }];
    let lookups = 0;
    const lookup = async () => [answers[lookups++] ?? loopback];
    await fetchWith(secureDownloader({ lookup }), secure.serve('/once.png', { content: sampleFiles.png }));
    expect(lookups).toBe(1);
  });

  it('never uses a connection that another part of the process keeps open', async () => {
    const kept = request({
      agent: globalAgent, host: tlsHostName, port: secure.host.split(':')[1], path: '/a.png', ca: tlsCertificate,
      lookup: (_name, _options, callback) => { callback(null, [loopback]); },
    }).end();
    const [response] = await once(kept, 'response');
    await once(response.resume(), 'end');
    const before = secure.requests.length;
    const strict = createDownloader({
      allowedHosts: [], ca: tlsCertificate, connectTimeout: 300, lookup: async () => [{ address: '8.8.8.8', family: 4 }],
    });
    expect(await codeOf(fetchWith(strict, `https://${secure.host}/a.png`))).toBe('document_fetch_failed');
    expect(secure.requests.length).toBe(before);
    globalAgent.destroy();
  });
});

describe('the trap: a server on this machine that must never hear from us', () => {
  let trap: Server;
  let reached = 0;
  let port = 0;

  beforeAll(async () => {
    // On every address of the machine, IPv4 and IPv6.
    trap = createServer((socket) => {
      reached += 1;
      socket.destroy();
    }).listen(0);
    await once(trap, 'listening');
    port = portOf(trap.address());
  });
  afterEach(() => { expect(reached).toBe(0); });
  afterAll(() => { trap.close(); });

  const literals = [
    '127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '017700000001', '127.0.0.1.',
    '127.255.255.254', '0', '0.0.0.0', '１２７.0.0.1', '①②⑦.0.0.1', '127。0。0。1', '%31%32%37.0.0.1', 'localhost', 'LOCALHOST.', 'a.localhost',
    '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001:0:7f00:1::]', '[fe80::1]', '[fc00::1]', '[ff02::1]',
    '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '169.254.169.254', '0xa9fea9fe', '168.63.129.16', '[fd00:ec2::254]',
    'metadata.google.internal', 'intranet',
  ];

  it.each(literals)('https://%s is forbidden, and so is a redirect to it', async (literal) => {
    for (const scheme of ['https', 'http']) {
      const url = `${scheme}://${literal}:${port}/latest/meta-data/`;
      expect(await codeOf(fetchWith(download, url))).toBe('document_url_forbidden');
      const bait = host.serve('/bait.pdf', (_request, response) => {
        response.writeHead(302, { location: Buffer.from(url).toString('latin1') }).end();
      });
      expect(await codeOf(fetchWith(download, bait))).toBe('document_url_forbidden');
    }
  });

  const publicAddress: HostAddress = { address: '8.8.8.8', family: 4 };
  const answers: [string, HostAddress[]][] = [
    ['an IPv4 loopback', [{ address: '127.0.0.1', family: 4 }]],
    ['an IPv6 loopback', [{ address: '::1', family: 6 }]],
    ['a mapped address', [{ address: '::ffff:127.0.0.1', family: 6 }]],
    ['a private address', [{ address: '10.0.0.7', family: 4 }]],
    ['the metadata service', [{ address: '169.254.169.254', family: 4 }]],
    ['a link-local address with its zone', [{ address: 'fe80::1%lo', family: 6 }]],
    ['a public A and a private A', [publicAddress, { address: '127.0.0.1', family: 4 }]],
    ['a private A and a public A', [{ address: '127.0.0.1', family: 4 }, publicAddress]],
    ['a public A and a private AAAA', [publicAddress, { address: '::1', family: 6 }]],
    ['a public AAAA and a private A', [{ address: '2606:4700::1', family: 6 }, { address: '127.0.0.1', family: 4 }]],
    ['a NAT64 address', [{ address: '64:ff9b::7f00:1', family: 6 }]],
    ['the unspecified address', [{ address: '0.0.0.0', family: 4 }]],
  ];

  it.each(answers)('a name that stands for %s is forbidden', async (_name, addresses) => {
    const misled = downloaderFor({ lookup: async () => addresses });
    const refusal = await refusalOf(fetchWith(misled, `https://files.example.com:${port}/`));
    expect([refusal.code, refusal.message]).toEqual(['document_url_forbidden', 'The URL may not be fetched: use a public https URL.']);
  });

  it('a name whose answer turns private after the check is not looked up again', async () => {
    let lookups = 0;
    const rebinding = downloaderFor({
      connectTimeout: 300,
      lookup: async () => (lookups++ === 0 ? [publicAddress] : [{ address: '127.0.0.1', family: 4 }]),
    });
    expect(await codeOf(fetchWith(rebinding, `https://files.example.com:${port}/`))).toBe('document_fetch_failed');
    expect(lookups).toBe(1);
  });

  it('an exception for one port opens no other', async () => {
    expect(await codeOf(fetchWith(download, `http://${host.host.split(':')[0]}:${port}/`))).toBe('document_url_forbidden');
  });

  it.each(['file:///etc/passwd', 'ftp://127.0.0.1/', 'gopher://127.0.0.1:70/', 'https://u:p@files.example.com/', 'javascript:1'])(
    '%s is invalid in a request and forbidden in a redirect', async (url) => {
      expect(await codeOf(fetchWith(download, url))).toBe('document_url_invalid');
      const bait = host.serve('/odd', (_request, response) => { response.writeHead(307, { location: url }).end(); });
      expect(await codeOf(fetchWith(download, bait))).toBe('document_url_forbidden');
    });
});
