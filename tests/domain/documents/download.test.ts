import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { globalAgent, request } from 'node:https';
import { gzipSync } from 'node:zlib';
import { createDownloader, fetchDefaults, type DownloaderOptions } from '../../../src/adapters/download/download.js';
import type { RemoteFile } from '../../../src/adapters/download/downloader.js';
import { tlsFiles } from '../../support/tlsFiles.js';
import { codeOf, endless, fetchWith, readAll } from '../../support/downloads.js';
import { sampleFiles, startFileHost, type FileHost } from '../../support/fileHost.js';
import { words } from '../../support/words.js';
import { ipv4, redirect, useFileHost } from './downloadHarness.js';

const mebibyte = 1024 * 1024;
const files = useFileHost();

it('the download of a document allows 5 s to connect, 30 s in total and 3 redirects', () => {
  const limits = { connectTimeout: 5_000, totalTimeout: 30_000, maxRedirects: 3 };
  expect(fetchDefaults).toEqual(limits);
});

describe('a fetched document', () => {
  it('is delivered byte for byte, with its types, size and checksum', async () => {
    const content = Buffer.concat([sampleFiles.pdf, Buffer.alloc(3 * mebibyte, 'health')]);
    const url = files.host.serve('/blood.pdf', { content, headers: { 'content-type': 'application/pdf; x=1' } });
    const { value, ...sums } = await files.downloaderFor()(url, { maxBytes: 4 * mebibyte }, async (file) => ({
      types: [file.sniffedType, file.declaredType],
      content: await readAll(file),
    }));
    expect(value.content.equals(content)).toBe(true);
    expect(value.types).toEqual(['application/pdf', 'application/pdf; x=1']);
    expect(sums).toEqual({ sizeBytes: content.length, checksum: createHash('sha256').update(content).digest('hex') });
  });

  it('is requested uncompressed, with our user agent, without cookies, credentials or referrer', async () => {
    const target = files.host.serve('/second', { content: sampleFiles.png });
    const url = files.host.serve('/first', (_request, response) =>
      response.writeHead(302, { location: target, 'set-cookie': 'session=1; Path=/' }).end(),
    );
    await fetchWith(files.downloaderFor(), url);
    for (const { headers } of files.host.requests.slice(-2)) {
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
    const url = files.host.serve('/bomb', { content, headers });
    const { value, sizeBytes } = await files.downloaderFor()(url, { maxBytes: mebibyte }, async (file) => {
      await readAll(file);
      return file.sniffedType;
    });
    expect([value, sizeBytes]).toEqual(['application/gzip', content.length]);
  });

  it('is fetched after three redirects, and fails after a fourth', async () => {
    const { host, serve } = files.host;
    serve('/hop0', { content: sampleFiles.jpeg });
    for (const [hop, status] of [301, 303, 307, 308].entries()) serve(`/hop${hop + 1}`, redirect(`hop${hop}`, status));
    const { sizeBytes } = await fetchWith(files.downloaderFor(), `http://${host}/hop3`);
    expect(sizeBytes).toBe(sampleFiles.jpeg.length);
    expect(await files.codeFor(`http://${host}/hop4`)).toBe('document_fetch_failed');
  });

  it('closes its connection and reports the error when its reader fails', async () => {
    const fetchFor = (read: () => Promise<unknown>) =>
      files.downloaderFor()(files.host.serve('/unwanted', endless), { maxBytes: mebibyte }, read);
    await expect(fetchFor(() => Promise.reject(new Error('disk full')))).rejects.toThrow('disk full');
    await expect(fetchFor(async () => 'not read')).rejects.toThrow('must read the file to its end');
  });

  it('is not fetched through a proxy of the environment', async () => {
    const proxy = await startFileHost();
    const before = { ...process.env };
    const names = words('HTTP_PROXY http_proxy HTTPS_PROXY https_proxy ALL_PROXY all_proxy NODE_USE_ENV_PROXY');
    try {
      for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://${proxy.host}`;
      await fetchWith(files.downloaderFor(), files.host.serve('/direct', { content: sampleFiles.png }));
      expect(proxy.connections()).toBe(0);
    } finally {
      Object.assign(process.env, before);
      for (const name of names) if (before[name] === undefined) Reflect.deleteProperty(process.env, name);
      await proxy.close();
    }
  });
});

describe('a document with a size limit', () => {
  it.each([200, 204])('is refused as empty if the response has status %i and no body', async (status) => {
    const url = files.host.serve(`/empty-${status}`, (_request, response) => response.writeHead(status).end());
    expect(await files.codeFor(url)).toBe('document_empty');
  });

  it('is refused by its Content-Length before its body is read', async () => {
    let sent = 0;
    const url = files.host.serve('/declared', (_request, response) => {
      response.writeHead(200, { 'content-length': String(mebibyte + 1) }).flushHeaders();
      response.on('close', () => (sent = response.socket?.bytesWritten ?? 0));
    });
    expect(await files.codeFor(url)).toBe('document_too_large');
    expect(sent).toBeLessThan(1000);
  });

  it('is accepted at the size limit and refused one byte above it, without a Content-Length', async () => {
    const limit = 20 * mebibyte;
    const fetchOf = (size: number) => {
      const url = files.host.serve(`/${size}`, (_request: unknown, response: ServerResponse) => {
        response.write(Buffer.alloc(size - 1));
        response.end('x');
      });
      return files.downloaderFor()(url, { maxBytes: limit }, async ({ body }: RemoteFile) => {
        for await (const chunk of body) expect(chunk.length).toBeLessThan(mebibyte);
      });
    };
    expect((await fetchOf(limit)).sizeBytes).toBe(limit);
    expect(await codeOf(fetchOf(limit + 1))).toBe('document_too_large');
    expect(await files.codeFor(files.host.serve('/endless', endless))).toBe('document_too_large');
  });
});

describe('https', () => {
  let secure: FileHost;
  const loopback = ipv4('127.0.0.1');
  const ca = tlsFiles['ca.crt'];
  const secureDownloader = (options: Partial<DownloaderOptions> = {}) =>
    createDownloader({ allowedHosts: [secure.host], ca, lookup: async () => [loopback], ...options });

  beforeAll(async () => {
    secure = await startFileHost({ tls: true });
  });
  afterAll(() => secure.close());

  it('verifies the certificate for the host name, and connects to the address that was checked', async () => {
    const url = secure.serve('/a.png', { content: sampleFiles.png });
    await expect(fetchWith(secureDownloader(), url)).resolves.toMatchObject({ sizeBytes: sampleFiles.png.length });
    const otherName = secure.host.replace('files.', 'other.');
    const wrongName = secureDownloader({ allowedHosts: [otherName] });
    expect(await codeOf(fetchWith(wrongName, `https://${otherName}/a.png`))).toBe('document_fetch_failed');
  });

  it('refuses an untrusted certificate', async () => {
    const strict = createDownloader({ allowedHosts: [secure.host], lookup: async () => [loopback] });
    expect(await codeOf(fetchWith(strict, `https://${secure.host}/a.png`))).toBe('document_fetch_failed');
  });

  it('asks DNS once for a request, so that a changed answer has no effect', async () => {
    let lookups = 0;
    const lookup = async () => [lookups++ === 0 ? loopback : ipv4('127.0.0.2')];
    await fetchWith(secureDownloader({ lookup }), secure.serve('/once.png', { content: sampleFiles.png }));
    expect(lookups).toBe(1);
  });

  it('never reuses a connection of another part of the process', async () => {
    const kept = request(`https://${secure.host}/a.png`, {
      agent: globalAgent,
      ca,
      lookup: (_name, _options, callback) => callback(null, [loopback]),
    }).end();
    const [response] = await once(kept, 'response');
    await once(response.resume(), 'end');
    const before = secure.requests.length;
    const lookup = async () => [ipv4('8.8.8.8')];
    const strict = createDownloader({ allowedHosts: [], ca, connectTimeout: 300, lookup });
    expect(await codeOf(fetchWith(strict, `https://${secure.host}/a.png`))).toBe('document_fetch_failed');
    expect(secure.requests.length).toBe(before);
    globalAgent.destroy();
  });
});
