import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { globalAgent, request } from 'node:https';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createDownloader, fetchDefaults } from '../../../src/adapters/download/download.js';
import type { DownloaderOptions } from '../../../src/adapters/download/download.js';
import type { Downloader, RemoteFile } from '../../../src/adapters/download/downloader.js';
import type { HostAddress } from '../../../src/adapters/download/hostAddresses.js';
import { codeOf, endless, fetchWith, readAll, until } from '../../support/downloads.js';
import { sampleFiles, startFileHost, tlsCertificate, tlsHostName } from '../../support/fileHost.js';
import type { FileHost } from '../../support/fileHost.js';

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
afterAll(() => host.close());

it('allows 5 s to connect, 10 s of silence, 30 s in total and 3 redirects (R-62)', () => {
  const inMilliseconds = { connectTimeout: 5_000, stallTimeout: 10_000, totalTimeout: 30_000 };
  expect(fetchDefaults).toEqual({ ...inMilliseconds, maxRedirects: 3 });
});

describe('a fetched document', () => {
  it('is delivered byte for byte, with its types, size and checksum', async () => {
    const content = Buffer.concat([sampleFiles.pdf, Buffer.alloc(3 * mebibyte, 'health')]);
    const url = host.serve('/blood.pdf', { content, headers: { 'content-type': 'application/pdf; x=1' } });
    const { value, ...sums } = await download(url, { maxBytes: 4 * mebibyte }, async (file) => ({
      sniffedType: file.sniffedType,
      declaredType: file.declaredType,
      content: await readAll(file),
    }));
    expect(value.content.equals(content)).toBe(true);
    expect(value).toMatchObject({ sniffedType: 'application/pdf', declaredType: 'application/pdf; x=1' });
    expect(sums).toEqual({ sizeBytes: content.length, checksum: createHash('sha256').update(content).digest('hex') });
  });

  it('is requested uncompressed, with our user agent, without cookies, credentials or referrer', async () => {
    const target = host.serve('/second', { content: sampleFiles.png });
    const url = host.serve('/first', (_request, response) => {
      response.writeHead(302, { location: target, 'set-cookie': 'session=1; Path=/' }).end();
    });
    await fetchWith(download, url);
    for (const { headers } of host.requests.slice(-2)) {
      expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
      expect(headers).toMatchObject({
        'accept-encoding': 'identity',
        connection: 'close',
        'user-agent': 'ClinicalEncounterService/1 (document fetch)',
      });
    }
  });

  it('is never decompressed', async () => {
    const content = gzipSync(Buffer.alloc(8 * mebibyte));
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/pdf' };
    const url = host.serve('/bomb', { content, headers });
    const { value, sizeBytes } = await download(url, { maxBytes: mebibyte }, async (file) => {
      await readAll(file);
      return file.sniffedType;
    });
    expect([value, sizeBytes]).toEqual(['application/gzip', content.length]);
  });

  it('is fetched after three redirects, and fails after a fourth', async () => {
    host.serve('/hop0', { content: sampleFiles.jpeg });
    for (const [hop, status] of [
      [1, 301],
      [2, 303],
      [3, 307],
      [4, 308],
    ] as const) {
      const location = `hop${hop - 1}`;
      host.serve(`/hop${hop}`, (_request, response) => {
        response.writeHead(status, { location }).end();
      });
    }
    await expect(fetchWith(download, `http://${host.host}/hop3`)).resolves.toMatchObject({
      sizeBytes: sampleFiles.jpeg.length,
    });
    expect(await codeOf(fetchWith(download, `http://${host.host}/hop4`))).toBe('document_fetch_failed');
  });

  it('closes the connection and passes the reason when the reader fails', async () => {
    const url = host.serve('/unwanted', endless);
    const failing = () => Promise.reject(new Error('disk full'));
    await expect(download(url, { maxBytes: mebibyte }, failing)).rejects.toThrow('disk full');
    await expect(download(url, { maxBytes: mebibyte }, async () => 'not read')).rejects.toThrow('not read to its end');
  });

  it('can be read slowly: only silence of the server is a stall', async () => {
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
    const before = { ...process.env };
    const names = [
      'HTTP_PROXY',
      'http_proxy',
      'HTTPS_PROXY',
      'https_proxy',
      'ALL_PROXY',
      'all_proxy',
      'NODE_USE_ENV_PROXY',
    ];
    try {
      for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://${proxy.host}`;
      await fetchWith(downloaderFor(), host.serve('/direct', { content: sampleFiles.png }));
      expect(proxy.connections()).toBe(0);
    } finally {
      Object.assign(process.env, before);
      for (const name of names) if (before[name] === undefined) Reflect.deleteProperty(process.env, name);
      await proxy.close();
    }
  });
});

describe('a document of the wrong size', () => {
  it.each([
    ['no bytes', 200],
    ['no content by status', 204],
  ])('is empty: %s', async (name, status) => {
    const url = host.serve(`/empty-${status}`, (_request, response) => {
      response.writeHead(status).end();
    });
    expect([name, await codeOf(fetchWith(download, url))]).toEqual([name, 'document_empty']);
  });

  it('is refused by its Content-Length before its body is read', async () => {
    let sent = 0;
    const url = host.serve('/declared', (_request, response) => {
      response.writeHead(200, { 'content-length': String(mebibyte + 1) }).flushHeaders();
      response.on('close', () => {
        sent = response.socket?.bytesWritten ?? 0;
      });
    });
    expect(await codeOf(fetchWith(download, url))).toBe('document_too_large');
    expect(sent).toBeLessThan(1000);
  });

  it('is accepted at the limit and refused one byte above it without a Content-Length', async () => {
    const limit = 20 * mebibyte;
    const chunked = (size: number) => (_request: unknown, response: ServerResponse) => {
      response.write(Buffer.alloc(size - 1));
      response.end('x');
    };
    const count = async ({ body }: RemoteFile) => {
      for await (const chunk of body) expect(chunk.length).toBeLessThan(mebibyte);
    };
    const full = await download(host.serve('/full', chunked(limit)), { maxBytes: limit }, count);
    expect(full.sizeBytes).toBe(limit);
    const over = host.serve('/over', chunked(limit + 1));
    expect(await codeOf(download(over, { maxBytes: limit }, count))).toBe('document_too_large');
    expect(await codeOf(fetchWith(download, host.serve('/endless', endless)))).toBe('document_too_large');
  });
});

describe('https', () => {
  let secure: FileHost;
  const loopback: HostAddress = { address: '127.0.0.1', family: 4 };
  const secureDownloader = (options: Partial<DownloaderOptions> = {}) =>
    createDownloader({ allowedHosts: [secure.host], ca: tlsCertificate, lookup: async () => [loopback], ...options });

  beforeAll(async () => {
    secure = await startFileHost({ tls: true });
  });
  afterAll(() => secure.close());

  it('checks the certificate against the name while it connects to the checked address', async () => {
    const url = secure.serve('/a.png', { content: sampleFiles.png });
    await expect(fetchWith(secureDownloader(), url)).resolves.toMatchObject({ sizeBytes: sampleFiles.png.length });
    const otherName = secure.host.replace(tlsHostName, 'other.example.com');
    const wrongName = secureDownloader({ allowedHosts: [otherName] });
    expect(await codeOf(fetchWith(wrongName, `https://${otherName}/a.png`))).toBe('document_fetch_failed');
  });

  it('refuses an untrusted certificate', async () => {
    const { ca: _ca, ...options } = { ca: '', allowedHosts: [secure.host], lookup: async () => [loopback] };
    const strict = createDownloader(options);
    expect(await codeOf(fetchWith(strict, `https://${secure.host}/a.png`))).toBe('document_fetch_failed');
  });

  it('asks DNS once for each hop, so a later answer has no effect', async () => {
    const answers: HostAddress[] = [loopback, { address: '127.0.0.2', family: 4 }];
    let lookups = 0;
    const lookup = async () => [answers[lookups++] ?? loopback];
    await fetchWith(secureDownloader({ lookup }), secure.serve('/once.png', { content: sampleFiles.png }));
    expect(lookups).toBe(1);
  });

  it('never reuses a connection of another part of the process', async () => {
    const kept = request({
      agent: globalAgent,
      host: tlsHostName,
      port: secure.host.split(':')[1],
      path: '/a.png',
      ca: tlsCertificate,
      lookup: (_name, _options, callback) => {
        callback(null, [loopback]);
      },
    }).end();
    const [response] = await once(kept, 'response');
    await once(response.resume(), 'end');
    const before = secure.requests.length;
    const strict = createDownloader({
      allowedHosts: [],
      ca: tlsCertificate,
      connectTimeout: 300,
      lookup: async () => [{ address: '8.8.8.8', family: 4 }],
    });
    expect(await codeOf(fetchWith(strict, `https://${secure.host}/a.png`))).toBe('document_fetch_failed');
    expect(secure.requests.length).toBe(before);
    globalAgent.destroy();
  });
});
