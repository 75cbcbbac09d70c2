import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import type { RequestListener, Server } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { openS3Store } from '../../src/adapters/objects/s3Store.js';
import { Problem } from '../../src/problem.js';
import { codeOf } from '../support/downloads.js';
import { closeServer, portOf } from '../support/fileHost.js';
import { temporaryFolder } from '../support/folder.js';
import { startRawServer } from '../support/rawServer.js';
import { bodyOf, listen } from '../support/objectStores.js';
import { hasS3Server, startS3Server } from '../support/s3.js';

describe('the S3 store without a working server', () => {
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

  it.each(faults)(
    'rejects with dependency_unavailable and leaves its spool empty when the server %s',
    async (_fault, listener) => {
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
      expect(await Promise.all(attempts.map(codeOf))).toEqual(Array(3).fill('dependency_unavailable'));
      expect(await readdir(spool())).toEqual([]);
      await closeServer(server);
      expect(await codeOf(store.check())).toBe('dependency_unavailable');
    },
  );

  it('rejects with dependency_unavailable when the server switches protocols and then is silent', async () => {
    const answer = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';
    const server = await startRawServer(answer, false);
    const store = await open(`http://${server.host}`, { timeout: 300 });
    const read = async (): Promise<void> => {
      for await (const _ of store.read('a/b.pdf'));
    };
    const attempts = [
      store.put('a/b.pdf', bodyOf(randomBytes(3_000_000)), 'application/pdf'),
      ...[read(), store.remove('a/b.pdf'), store.check()],
      store.list()[Symbol.asyncIterator]().next(),
    ];
    expect(await Promise.all(attempts.map(codeOf))).toEqual(Array(5).fill('dependency_unavailable'));
    expect(await readdir(spool())).toEqual([]);
    server.close();
  });

  it('treats 404 NoSuchKey on removal as success, but not 404 NoSuchBucket', async () => {
    let code = 'NoSuchKey';
    const { origin } = await serve((_request, response) => {
      response.writeHead(404).end(`<Error><Code>${code}</Code></Error>`);
    });
    const store = await open(origin);
    await expect(store.remove('a/b.pdf')).resolves.toBeUndefined();
    code = 'NoSuchBucket';
    expect(await codeOf(store.remove('a/b.pdf'))).toBe('dependency_unavailable');
  });

  it('writes neither a signed URL nor the secret into the error of a refused connection', async () => {
    const store = await open('http://127.0.0.1:1');
    const error: unknown = await store.check().catch((reason: unknown) => reason);
    const text = error instanceof Problem ? JSON.stringify([error, error.stack, error.cause, String(error.cause)]) : '';
    expect(text).toContain('ECONNREFUSED');
    expect(text).not.toMatch(/X-Amz|secret|documents\?/);
  });

  it('rejects an S3_ENDPOINT with a path', async () => {
    await expect(open('https://s3.example.com/path')).rejects.toThrow('S3_ENDPOINT');
  });

  (hasS3Server() ? it : it.skip)(
    'is unavailable and empties its spool when the server stops in the middle of a put',
    async () => {
      const s3 = await startS3Server();
      const relay = await startRelay(Number(new URL(s3.account.endpoint).port), 5_000_000);
      const endpoint = `http://127.0.0.1:${relay.port}`;
      const store = await openS3Store({ ...s3.account, endpoint, spoolFolder: spool(), timeout: 5_000 });
      const content = randomBytes(20 * 1024 * 1024);
      const attempt = codeOf(store.put('a/b.pdf', bodyOf(content), 'application/pdf'));
      await relay.reached;
      expect(await s3.keys()).toEqual([]);
      await s3.close();
      expect(await attempt).toBe('dependency_unavailable');
      expect(await readdir(spool())).toEqual([]);
      expect(await codeOf(store.check())).toBe('dependency_unavailable');
      relay.close();
    },
  );
});

/** Relays to a local port; `reached` resolves after this many bytes, so that the test needs no clock. */
async function startRelay(target: number, bytes: number) {
  let relayed = 0;
  let reach = (): void => undefined;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const relay = createServer((from: Socket) => {
    const to = connect(target, '127.0.0.1');
    from.on('data', (chunk) => {
      relayed += chunk.length;
      if (relayed > bytes) reach();
    });
    from.pipe(to).pipe(from);
    for (const socket of [from, to]) {
      socket.on('error', () => undefined).on('close', () => [from, to].forEach((end) => end.destroy()));
    }
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return { port: portOf(relay.address()), reached, close: () => relay.close() };
}
