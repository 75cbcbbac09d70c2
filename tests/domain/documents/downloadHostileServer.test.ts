import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createDownloader } from '../../../src/adapters/download/download.js';
import type { DownloaderOptions } from '../../../src/adapters/download/download.js';
import type { Downloader } from '../../../src/adapters/download/downloader.js';
import type { HostLookup } from '../../../src/adapters/download/hostAddresses.js';
import { codeOf, endless, fetchWith, refusalOf, until } from '../../support/downloads.js';
import { sampleFiles, startFileHost } from '../../support/fileHost.js';
import type { FileHost } from '../../support/fileHost.js';
import { startDeafServer, startRawServer } from '../../support/rawServer.js';
import type { RawServer } from '../../support/rawServer.js';

const mebibyte = 1024 * 1024;

let host: FileHost;
let download: Downloader;

const downloaderFor = (options: Partial<DownloaderOptions> = {}) =>
  createDownloader({ allowedHosts: [host.host], ...options });

beforeAll(async () => {
  host = await startFileHost();
  download = downloaderFor();
});
afterEach(() => until(() => host.openConnections() === 0));
afterAll(async () => {
  for (const server of rawServers) server.close();
  await host.close();
});

/** Closed after all tests, even when a test fails. */
const rawServers: RawServer[] = [];

async function rawServer(answer: string | undefined, split: boolean): Promise<RawServer> {
  const server = await startRawServer(answer, split);
  rawServers.push(server);
  return server;
}

describe('a server that does not deliver the file', () => {
  it.each([300, 304, 400, 401, 403, 404, 410, 418, 500, 503, 206])('is refused with status %i', async (status) => {
    const url = host.serve(`/status-${status}`, (_request, response) => {
      response.writeHead(status).end();
    });
    const refusal = await refusalOf(fetchWith(download, url));
    const message = 'The URL did not deliver the file.';
    expect([refusal.code, refusal.message]).toEqual(['document_fetch_failed', message]);
  });

  it.each([
    [404, {}],
    [302, { location: '/landing' }],
    [302, {}],
    [500, {}],
  ])('cannot make us read the endless body of a %i', async (status, headers) => {
    let sent = Infinity;
    host.serve('/landing', { content: sampleFiles.png });
    const url = host.serve(`/flood-${status}`, (httpRequest, response) => {
      const { socket } = httpRequest;
      response.writeHead(status, headers);
      response.on('close', () => {
        sent = socket.bytesWritten;
      });
      endless(httpRequest, response);
    });
    await fetchWith(download, url).catch(() => undefined);
    await until(() => host.openConnections() === 0);
    // A generous limit for the kernel buffers of two sockets.
    expect(sent).toBeLessThan(64 * mebibyte);
  });

  it.each([
    ['sends no headers', () => undefined],
    [
      'stops after the headers',
      (response: ServerResponse) => {
        response.writeHead(200).flushHeaders();
      },
    ],
    [
      'stops in the middle',
      (response: ServerResponse) => {
        response.write(Buffer.alloc(50_000));
      },
    ],
  ])('times out when it %s', async (name, answer) => {
    const url = host.serve(`/${encodeURIComponent(name)}`, (_request, response) => {
      answer(response);
    });
    expect(await codeOf(fetchWith(downloaderFor({ stallTimeout: 100 }), url))).toBe('document_fetch_failed');
  });

  it('times out after the total time, even if it sends slowly and redirects', async () => {
    const drip = host.serve('/drip', (_request, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => {
        clearInterval(timer);
      });
    });
    const url = host.serve('/to-drip', (_request, response) => {
      response.writeHead(302, { location: drip }).end();
    });
    const impatient = downloaderFor({ totalTimeout: 400, stallTimeout: 200 });
    expect(await codeOf(fetchWith(impatient, url))).toBe('document_fetch_failed');
  });

  it.each([
    ['closes at once', ''],
    ['speaks another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n%PDF-1.4'],
    ['breaks off in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%PDF-\r\n'],
    ['sends a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%PDF-\r\nzz\r\n'],
    ['sends two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n%PDF-'],
    [
      'sends a length and chunks',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n',
    ],
    ['sends a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n%PDF-'],
    ['sends an absurd length', 'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n%PDF-'],
    ['sends more than it said', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n%PDF-1.4 and more'],
    ['sends a body with 304', 'HTTP/1.1 304 Not Modified\r\n\r\nbody'],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nxxxx'],
    ['sends 10 000 headers', `HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(10_000)}\r\n%PDF-`],
    ['sends an endless header', `HTTP/1.1 200 OK\r\nx-a: ${'b'.repeat(100_000)}`],
    ['redirects to nowhere', 'HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'],
  ])('is refused when it %s', async (_name, answer) => {
    for (const split of [false, true]) {
      const server = await rawServer(answer, split);
      const impatient = createDownloader({ allowedHosts: [server.host], stallTimeout: 300 });
      expect(await codeOf(fetchWith(impatient, `http://${server.host}/a.pdf`))).toBe('document_fetch_failed');
      await until(() => server.openConnections() === 0);
    }
  });

  it('times out when it accepts the connection without a TLS handshake', async () => {
    const server = await rawServer(undefined, false);
    const impatient = createDownloader({ allowedHosts: [server.host], connectTimeout: 100 });
    expect(await codeOf(fetchWith(impatient, `https://${server.host}/`))).toBe('document_fetch_failed');
  });

  it('times out when it never accepts the connection', async () => {
    const server = await startDeafServer();
    rawServers.push(server);
    // Only the connect timeout can end the attempt within the time of the test.
    const others = { stallTimeout: 60_000, totalTimeout: 60_000 };
    const impatient = createDownloader({ allowedHosts: [server.host], connectTimeout: 100, ...others });
    expect(await codeOf(fetchWith(impatient, `http://${server.host}/`))).toBe('document_fetch_failed');
  });

  it('times out when DNS never answers', async () => {
    const lookup: HostLookup = async (_name, signal) => {
      await once(signal, 'abort');
      throw signal.reason;
    };
    expect(await codeOf(fetchWith(downloaderFor({ lookup, connectTimeout: 100 }), 'https://files.example.com/'))).toBe(
      'document_fetch_failed',
    );
  });

  it('gets one answer for all failures, so that callers cannot probe the network', async () => {
    const [closed, silent] = [await rawServer('', false), await rawServer(undefined, false)];
    const deaf = await startDeafServer();
    rawServers.push(deaf);
    closed.close();
    const nameless: HostLookup = () => Promise.reject(new Error('ENOTFOUND'));
    const refusals = [
      ...[closed, deaf, silent].map(({ host: place }) =>
        fetchWith(
          createDownloader({ allowedHosts: [place], connectTimeout: 100, stallTimeout: 100 }),
          `http://${place}/`,
        ),
      ),
      fetchWith(downloaderFor({ lookup: nameless }), 'https://files.example.com/'),
      fetchWith(download, `http://${host.host}/missing`),
    ].map(async (attempt) => {
      const { code, message, extra, errors } = await refusalOf(attempt);
      return { code, message, extra, errors };
    });
    const message = 'The URL did not deliver the file.';
    const answer = { code: 'document_fetch_failed', message, extra: {}, errors: [] };
    expect(await Promise.all(refusals)).toEqual(refusals.map(() => answer));
  });

  it('is refused when its port is closed or its name has no address', async () => {
    const closed = await rawServer('', false);
    closed.close();
    expect(await codeOf(fetchWith(createDownloader({ allowedHosts: [closed.host] }), `http://${closed.host}/`))).toBe(
      'document_fetch_failed',
    );
    const nameless = downloaderFor({ connectTimeout: 1000 });
    expect(await codeOf(fetchWith(nameless, 'https://no-such-host.invalid/a.pdf'))).toBe('document_fetch_failed');
  });
});
