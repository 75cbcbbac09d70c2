import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import type { RequestListener, Server } from 'node:http';
import { openS3Store } from '../../src/adapters/objects/s3Store.js';
import { Problem } from '../../src/problem.js';
import { temporaryFolder } from '../support/folder.js';
import { startRawServer } from '../support/rawServer.js';
import { bodyOf, closeServer, listen, outcomeOf } from '../support/objectStores.js';

describe('the S3 store without its server', () => {
  const spool = temporaryFolder();
  const open = (endpoint: string, options = {}) =>
    openS3Store({ ...account, endpoint, spoolFolder: spool(), ...options });
  const account = { region: 'us-east-1', bucket: 'documents', accessKey: 'key', secretKey: 'a secret' };
  afterAll(() => Promise.all(servers.map(closeServer)));

  /** Closed at the end of the file, also when a test fails. */
  const servers: Server[] = [];
  const serve = async (listener: RequestListener) => {
    const { server, origin } = await listen(listener);
    servers.push(server);
    return { server, origin };
  };

  const faults: [string, RequestListener][] = [
    ['is overloaded', (_, response) => void response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>')],
    ['redirects', (_, response) => void response.writeHead(301, { location: '/elsewhere' }).end()],
    ['never answers', () => undefined],
    ['hangs up in the middle', (request) => void request.once('data', () => request.socket.destroy())],
    ['hangs up at once', (request) => void request.socket.destroy()],
  ];

  it.each(faults)('is unavailable, within its time limit, when the server %s', async (_fault, listener) => {
    const { server, origin } = await serve((request, response) => {
      listener(request, response);
      request.resume();
    });
    const store = await open(origin, { timeout: 300 });
    const attempts = [
      store.put('a/b.pdf', bodyOf(randomBytes(3_000_000)), 'application/pdf'),
      store.remove('a/b.pdf'),
      store.check(),
    ];
    expect(await Promise.all(attempts.map(outcomeOf))).toEqual(Array(3).fill('dependency_unavailable'));
    expect(await readdir(spool())).toEqual([]);
    await closeServer(server);
    expect(await outcomeOf(store.check())).toBe('dependency_unavailable');
  });

  it('is unavailable when the server switches protocols and then is silent', async () => {
    const answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';
    const server = await startRawServer(answer, false);
    const store = await open(`http://${server.host}`, { timeout: 300 });
    const read = async (): Promise<void> => {
      for await (const _ of store.read('a/b.pdf'));
    };
    const attempts = [
      store.put('a/b.pdf', bodyOf(randomBytes(3_000_000)), 'application/pdf'),
      ...[read(), store.remove('a/b.pdf'), store.check()],
      ...[store.removeUnfinished(new Date()), store.list()[Symbol.asyncIterator]().next()],
    ];
    expect(await Promise.all(attempts.map(outcomeOf))).toEqual(Array(6).fill('dependency_unavailable'));
    expect(await readdir(spool())).toEqual([]);
    server.close();
  });

  it('treats NoSuchKey on removal as success, but no other 404', async () => {
    let code = 'NoSuchKey';
    const { origin } = await serve((_request, response) => {
      response.writeHead(404).end(`<Error><Code>${code}</Code></Error>`);
    });
    const store = await open(origin);
    expect(await outcomeOf(store.remove('a/b.pdf'))).toBe('accepted');
    code = 'NoSuchBucket';
    expect(await outcomeOf(store.remove('a/b.pdf'))).toBe('dependency_unavailable');
  });

  it('never writes a signed URL or the secret into an error', async () => {
    const store = await open('http://127.0.0.1:1');
    const error: unknown = await store.check().catch((reason: unknown) => reason);
    const text = error instanceof Problem ? JSON.stringify([error, error.stack, error.cause, String(error.cause)]) : '';
    expect(text).toContain('ECONNREFUSED');
    expect(text).not.toMatch(/X-Amz|secret|documents\?/);
  });

  it('rejects an S3_ENDPOINT with a path', async () => {
    await expect(open('https://s3.example.com/path')).rejects.toThrow('S3_ENDPOINT');
  });
});
