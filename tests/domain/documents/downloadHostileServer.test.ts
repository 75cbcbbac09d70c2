import type { ServerResponse } from 'node:http';
import type { HostLookup } from '../../../src/adapters/download/guardedRequest.js';
import { endless, fetchWith, refusalOf } from '../../support/downloads.js';
import { sampleFiles } from '../../support/fileHost.js';
import { startDeafServer, startRawServer, type RawServer } from '../../support/rawServer.js';
import { redirect, useFileHost } from './downloadHarness.js';
import { until } from '../../support/until.js';

const mebibyte = 1024 * 1024;
const failed = 'document_fetch_failed';
const message = 'The host did not deliver the file in time, or at all. Check the URL, then try again.';
const files = useFileHost();

/** Closed after all tests, even when a test fails. */
const rawServers: RawServer[] = [];
afterAll(() => {
  for (const server of rawServers) server.close();
});

async function opened(starting: Promise<RawServer>): Promise<RawServer> {
  const server = await starting;
  rawServers.push(server);
  return server;
}

describe('a server that does not deliver the file', () => {
  it.each([300, 304, 400, 401, 403, 404, 410, 418, 500, 503, 206])('is refused with status %i', async (status) => {
    const url = files.host.serve(`/status-${status}`, (_request, response) => response.writeHead(status).end());
    const refusal = await refusalOf(fetchWith(files.downloaderFor(), url));
    expect([refusal.code, refusal.message]).toEqual([
      failed,
      `The host answered with status ${status} instead of the file. Check the URL, then try again.`,
    ]);
  });

  it.each([
    [404, {}],
    [302, { location: '/landing' }],
    [302, {}],
    [500, {}],
  ])('is not read to the end when it answers %i with an endless body', async (status, headers) => {
    let sent = Infinity;
    files.host.serve('/landing', { content: sampleFiles.png });
    const url = files.host.serve(`/flood-${status}`, (request, response) => {
      const { socket } = request;
      response.writeHead(status, headers).on('close', () => (sent = socket.bytesWritten));
      endless(request, response);
    });
    await fetchWith(files.downloaderFor(), url).catch(() => undefined);
    await until(() => files.host.openConnections() === 0);
    // A generous limit for the kernel buffers of two sockets.
    expect(sent).toBeLessThan(64 * mebibyte);
  });

  it.each<[string, (response: ServerResponse) => unknown]>([
    ['sends no headers', () => undefined],
    ['stops after the headers', (response) => response.writeHead(200).flushHeaders()],
    ['stops in the middle', (response) => response.write(Buffer.alloc(50_000))],
  ])('is abandoned after the total time when it %s', async (name, answer) => {
    const url = files.host.serve(`/${encodeURIComponent(name)}`, (_request, response) => answer(response));
    expect(await files.codeFor(url, { totalTimeout: 200 })).toBe(failed);
  });

  it('is abandoned after the total time, even if it sends slowly and redirects', async () => {
    const drip = files.host.serve('/drip', (_request, response) => {
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const url = files.host.serve('/to-drip', redirect(drip));
    expect(await files.codeFor(url, { totalTimeout: 400 })).toBe(failed);
  });

  it.each([
    ['closes at once', ''],
    ['speaks another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n%PDF-1.4'],
    ['breaks off in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%PDF-\r\n'],
    ['sends a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%PDF-\r\nzz\r\n'],
    ['sends two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n%PDF-'],
    ['adds a length to chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n'],
    ['sends a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n%PDF-'],
    ['sends an absurd length', 'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n%PDF-'],
    ['sends more than it said', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n%PDF-1.4 and more'],
    ['sends a body with 304', 'HTTP/1.1 304 Not Modified\r\n\r\nbody'],
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nxxxx'],
    ['sends 10 000 headers', `HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(10_000)}\r\n%PDF-`],
    ['sends an endless header', `HTTP/1.1 200 OK\r\nx-a: ${'b'.repeat(100_000)}`],
    ['redirects without a location', 'HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'],
  ])('is reported as document_fetch_failed when it %s', async (_name, answer) => {
    for (const split of [false, true]) {
      const { host, openConnections } = await opened(startRawServer(answer, split));
      expect(await files.codeFor(`http://${host}/a.pdf`, { allowedHosts: [host], totalTimeout: 2_000 })).toBe(failed);
      await until(() => openConnections() === 0);
    }
  });

  it('is abandoned after the connect timeout when it does not complete the TLS handshake', async () => {
    const { host } = await opened(startRawServer(undefined, false));
    expect(await files.codeFor(`https://${host}/`, { allowedHosts: [host], connectTimeout: 100 })).toBe(failed);
  });

  it('is abandoned after the connect timeout when it does not accept the connection', async () => {
    const { host } = await opened(startDeafServer());
    // Only the connect timeout can end the attempt within the time of the test.
    const limits = { connectTimeout: 100, totalTimeout: 60_000 };
    expect(await files.codeFor(`http://${host}/`, { allowedHosts: [host], ...limits })).toBe(failed);
  });

  it('is abandoned after the connect timeout when DNS does not answer', async () => {
    const lookup: HostLookup = () => new Promise(() => undefined);
    expect(await files.codeFor('https://files.example.com/', { lookup, connectTimeout: 100 })).toBe(failed);
  });

  it('is refused when its host name has no address', async () => {
    expect(await files.codeFor('https://no-such-host.invalid/a.pdf', { connectTimeout: 1000 })).toBe(failed);
  });

  it('leads to the same error for a closed port, a silent server and an unknown host, so that callers cannot probe the network', async () => {
    const closed = await opened(startRawServer('', false));
    closed.close();
    const servers = [closed, await opened(startDeafServer()), await opened(startRawServer(undefined, false))];
    const allowedHosts = [files.host.host, ...servers.map(({ host }) => host)];
    const lookup: HostLookup = () => Promise.reject(new Error('ENOTFOUND'));
    const download = files.downloaderFor({ allowedHosts, lookup, connectTimeout: 100, totalTimeout: 500 });
    const urls = [...servers.map(({ host }) => `http://${host}/missing`), 'https://files.example.com/'];
    const refusals = await Promise.all(urls.map((url) => refusalOf(fetchWith(download, url))));
    const answer = { code: failed, message, extra: {}, errors: [] };
    expect(refusals.map(({ code, message: text, extra, errors }) => ({ code, message: text, extra, errors }))).toEqual(
      urls.map(() => answer),
    );
  });
});
