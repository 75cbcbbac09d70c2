import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import express from 'express';
import { openObjectStore } from '../../src/adapters/objectStore.js';
import type { ObjectStore, ObjectStoreOptions } from '../../src/adapters/objectStore.js';
import { openS3Store } from '../../src/adapters/s3Store.js';
import { fileRoutes } from '../../src/http/files.js';
import { Problem } from '../../src/problem.js';
import { portOf } from '../support/fileHost.js';
import { hasS3Server, startS3Server } from '../support/s3.js';
import type { S3Server } from '../support/s3.js';

const pdfObject = { fileName: 'scan.pdf', contentType: 'application/pdf' };
const lifetime = 900;
const keyOf = (fileName: string) => `glow/clients/${randomBytes(8).toString('hex')}/lab-results/d1/${fileName}`;
const bodyOf = (...chunks: (Uint8Array | string)[]) => Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');

async function codeOf(attempt: Promise<unknown>): Promise<unknown> {
  const outcome = await attempt.then(() => 'accepted', (error: unknown) => error);
  return outcome instanceof Problem ? outcome.code : outcome;
}

/** A store under test, with what the tests may look at from outside. */
interface Subject {
  readonly store: ObjectStore;
  /** Everything that is stored or was left behind. */
  leftovers(): Promise<string[]>;
}

/** Servers end with the file, also when a test fails. */
const servers: Server[] = [];
afterAll(() => Promise.all(servers.map(closeServer)));

async function listen(listener: RequestListener): Promise<{ server: Server; origin: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${portOf(server.address())}` };
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

let clock = () => new Date();

async function openFileSubject(dataDir: string): Promise<Subject & { origin: string }> {
  const app = express();
  const { origin } = await listen(app);
  const options: ObjectStoreOptions = { dataDir, baseUrl: () => origin, store: { kind: 'file' } };
  const store = await openObjectStore(options);
  app.use('/files', fileRoutes({ objects: store, now: () => clock() }));
  return { store, origin, leftovers: () => filesBelow(join(dataDir, 'documents')) };
}

function describeStore(provider: 'file' | 's3', open: (dataDir: string) => Promise<Subject>): void {
  let subject: Subject;
  let store: ObjectStore;
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'objects-'));
    subject = await open(dataDir);
    store = subject.store;
  });
  afterAll(() => rm(dataDir, { recursive: true }));

  const linkTo = (key: string, object = pdfObject, from = new Date()) => store.link(key, object, from, lifetime);
  const put = async (fileName: string, content: Uint8Array | string = 'content') => {
    const key = keyOf(fileName);
    await store.put(key, bodyOf(content), 'application/pdf');
    return key;
  };

  it('says what it is and that it works', async () => {
    expect([store.provider, store.container]).toEqual([provider, 'documents']);
    await expect(store.check()).resolves.toBeUndefined();
  });

  it('gives back what was stored, byte for byte', async () => {
    const chunks = Array.from({ length: 100 }, (_, index) => randomBytes(index * 3000));
    const key = keyOf('big.pdf');
    await store.put(key, Readable.from(chunks), 'application/pdf');
    const response = await fetch(await linkTo(key));
    const content = Buffer.from(await response.arrayBuffer());
    expect([response.status, sha256(content)]).toEqual([200, sha256(Buffer.concat(chunks))]);
  });

  it('serves a link as a download of the stored type that nobody keeps', async () => {
    const { headers } = await fetch(await linkTo(await put('scan.pdf')));
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-disposition': 'attachment; filename=scan.pdf',
      'cache-control': 'private, no-store',
      'content-length': '7',
    });
  });

  it('serves parts', async () => {
    const link = await linkTo(await put('part.pdf', '0123456789'));
    const part = async (range: string) => {
      const response = await fetch(link, { headers: { range } });
      return [response.status, response.headers.get('content-range'), response.status === 206 && await response.text()];
    };
    expect(await part('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234']);
    expect(await part('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789']);
    expect((await part('bytes=10-'))[0]).toBe(416);
  });

  it.each([
    'a b.pdf', '100%.pdf', 'a%20b.pdf', '#1?x=y&z.pdf', '"quoted"; filename=evil.html.pdf', "it's (1).pdf", 'a+b=c,d.pdf',
    'Blüte é.pdf', '血液検査.pdf', '👩‍⚕️.pdf', 'نتيجة.pdf', '__proto__.pdf', `${'x'.repeat(251)}.pdf`, `${'é'.repeat(125)}.pdf`,
  ])('stores and serves a file called %s', async (fileName) => {
    const key = await put(fileName, fileName);
    const response = await fetch(await linkTo(key, { ...pdfObject, fileName }));
    expect([response.status, await response.text()]).toEqual([200, fileName]);
    const disposition = response.headers.get('content-disposition') ?? '';
    // RFC 6266 and RFC 8187, strictly: a token or a quoted string, then perhaps the name in UTF-8.
    const grammar = /^attachment; filename=(?:([\w!#$%&'*+.^`|~-]+)|"((?:[ !#-[\]-~]|\\["\\])*)")(?:; filename\*=UTF-8''([\w%.!#$&+^`|~-]+))?$/;
    const [, token, quoted, extended] = grammar.exec(disposition) ?? [];
    const plain = token ?? quoted?.replace(/\\(.)/g, '$1');
    expect(extended === undefined ? plain : decodeURIComponent(extended)).toBe(fileName);
  });

  it('refuses a link after its time, and one whose secret is another', async () => {
    const key = await put('late.pdf');
    const [ago899, ago901] = [899, 901].map((seconds) => new Date(Date.now() - seconds * 1000));
    expect((await fetch(await linkTo(key, pdfObject, ago899))).status).toBe(200);
    expect((await fetch(await linkTo(key, pdfObject, ago901))).status).toBe(403);
  });

  it('refuses a link in which anything was changed', async () => {
    const [mine, other] = [await put('mine.pdf'), await put('othe.pdf')];
    const link = await linkTo(mine);
    const changes = [
      link.slice(0, -1) + (link.endsWith('A') ? 'B' : 'A'),
      link.replace(/.(?=[^.=]*$)/, (letter) => (letter === 'x' ? 'y' : 'x')),
      link.replace(encodeURIComponent('mine.pdf'), encodeURIComponent('othe.pdf')).replace(mine, other),
      link.replace('Expires=900', 'Expires=9000'),
      link.replace('application%2Fpdf', 'text%2Fhtml'),
      link.slice(0, -10),
    ].filter((changed) => changed !== link);
    for (const changed of changes) expect((await fetch(changed)).status).toBe(403);
  });

  it('answers 404 for an object that is gone, and removing it again is no error', async () => {
    const key = await put('gone.pdf');
    const link = await linkTo(key);
    await store.remove(key);
    await expect(store.remove(key)).resolves.toBeUndefined();
    const response = await fetch(link);
    expect(response.status).toBe(404);
    expect(await subject.leftovers()).not.toContain('gone.pdf');
  });

  it('stores nothing of a body that fails, and passes its reason', async () => {
    const before = await subject.leftovers();
    const key = keyOf('half.pdf');
    async function* failing(reason: Error) {
      yield randomBytes(200_000);
      throw reason;
    }
    const reason = new Problem('document_too_large');
    await expect(store.put(key, failing(reason), 'application/pdf')).rejects.toBe(reason);
    expect((await fetch(await linkTo(key))).status).toBe(404);
    expect(await subject.leftovers()).toEqual(before);
  });
}

describe('the file store', () => {
  describeStore('file', openFileSubject);

  let dataDir: string;
  let subject: Awaited<ReturnType<typeof openFileSubject>>;
  const linkTo = (key: string, from = new Date()) => subject.store.link(key, pdfObject, from, lifetime);

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'objects-'));
    subject = await openFileSubject(dataDir);
  });
  afterAll(() => rm(dataDir, { recursive: true }));

  it('refuses a link in which any one character was changed, dropped or doubled', async () => {
    const link = (await linkTo(keyOf('scan.pdf'))).split('/').at(-1) ?? '';
    const opens = (text: string) => subject.store.openLink?.(text, new Date()) !== undefined;
    expect(opens(link)).toBe(true);
    for (let at = 0; at < link.length; at += 1) {
      const [head, letter, tail] = [link.slice(0, at), link.slice(at, at + 1), link.slice(at + 1)];
      for (const other of ['A', 'B', 'a', '-', '.', '=', '', letter + letter]) {
        if (other !== letter) expect([at, other, opens(head + other + tail)]).toEqual([at, other, false]);
      }
    }
    for (const made of ['', '.', 'a.b', 'a.b.c', `${link}.`, `.${link}`, link.split('.')[0] ?? '']) expect(opens(made)).toBe(false);
  });

  it('counts the time of a link by the service’s clock, to the millisecond', async () => {
    const key = keyOf('scan.pdf');
    await subject.store.put(key, bodyOf('x'), 'application/pdf');
    const from = new Date('2031-01-01T00:00:00.000Z');
    const link = await linkTo(key, from);
    try {
      for (const [elapsed, status] of [[0, 200], [899_999, 200], [900_000, 403], [1e9, 403]] as const) {
        clock = () => new Date(from.getTime() + elapsed);
        expect([elapsed, (await fetch(link)).status]).toEqual([elapsed, status]);
      }
    } finally {
      clock = () => new Date();
    }
  });

  it('gives one answer for changed, expired and made-up links, and nothing that runs or stays', async () => {
    const key = keyOf('scan.pdf');
    const link = await linkTo(key);
    const refusals = [`${link}x`, await linkTo(key, new Date(0)), `${subject.origin}/files/x`, `${subject.origin}/files/..%2f..%2fetc%2fpasswd`];
    for (const refused of refusals) {
      const response = await fetch(refused);
      expect([response.status, await response.text()]).toEqual([403, 'This link is not valid or has expired.\n']);
    }
    await subject.store.put(key, bodyOf('<script>alert(1)</script>'), 'application/pdf');
    for (const url of [link, ...refusals]) {
      expect(Object.fromEntries((await fetch(url)).headers)).toMatchObject({
        'content-security-policy': "default-src 'none'; sandbox",
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, no-store',
        'referrer-policy': 'no-referrer',
      });
    }
  });

  it('answers HEAD like GET, and no other method', async () => {
    const key = keyOf('scan.pdf');
    await subject.store.put(key, bodyOf('12345'), 'application/pdf');
    const link = await linkTo(key);
    const head = await fetch(link, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '5', '']);
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const response = await fetch(link, { method });
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD']);
    }
    expect((await fetch(link)).status).toBe(200);
  });

  it.each(['../outside', 'a/../../outside', '/etc/passwd', 'a//b', '', '.', 'a/.', 'a/./b', 'a\\..\\b', 'a/b\u0000.pdf', 'a/.hidden',
    '.incoming/x', `a/${'x'.repeat(256)}`, 'a/'])('never leaves its folder: %j', async (key) => {
    const before = await filesBelow(dataDir);
    await expect(subject.store.put(key, bodyOf('x'), 'application/pdf')).rejects.toThrow('not valid');
    await expect(subject.store.remove(key)).rejects.toThrow('not valid');
    expect(await filesBelow(dataDir)).toEqual(before);
  });

  it('keeps files and its secret from other users, and its links over a restart', async () => {
    const key = keyOf('scan.pdf');
    await subject.store.put(key, bodyOf('x'), 'application/pdf');
    const link = (await linkTo(key)).split('/').at(-1) ?? '';
    const file = subject.store.openLink?.(link, new Date());
    const modes = await Promise.all([file?.path ?? '', join(dataDir, 'file-link.key')].map(async (path) => (await stat(path)).mode & 0o777));
    expect(modes).toEqual([0o600, 0o600]);
    const again = await openFileSubject(dataDir);
    expect(again.store.openLink?.(link, new Date())).toEqual(file);
  });

  it('agrees on one secret when several processes start at once, and refuses a broken one', async () => {
    const fresh = await mkdtemp(join(tmpdir(), 'objects-'));
    const open = () => openObjectStore({ dataDir: fresh, baseUrl: () => '', store: { kind: 'file' } });
    const stores = await Promise.all(Array.from({ length: 8 }, open));
    const links = await Promise.all(stores.map((store) => store.link('a/b', pdfObject, new Date(0), lifetime)));
    expect(new Set(links).size).toBe(1);
    expect((await readdir(fresh)).sort()).toEqual(['documents', 'file-link.key']);
    expect(await readFile(join(fresh, 'file-link.key'))).toHaveLength(32);
    await writeFile(join(fresh, 'file-link.key'), 'short');
    await expect(open()).rejects.toThrow('does not hold 32 bytes');
    await rm(fresh, { recursive: true });
  });

  it('is unavailable while its folder is gone', async () => {
    await rename(join(dataDir, 'documents'), join(dataDir, 'moved'));
    expect(await codeOf(subject.store.check())).toBe('dependency_unavailable');
    expect(await codeOf(subject.store.put(keyOf('a.pdf'), bodyOf('x'), 'application/pdf'))).toBe('dependency_unavailable');
    await rename(join(dataDir, 'moved'), join(dataDir, 'documents'));
    expect(await codeOf(subject.store.check())).toBe('accepted');
  });
});

const describeOnS3 = hasS3Server() ? describe : describe.skip;

describeOnS3('the S3 store', () => {
  let server: S3Server;
  let spoolFolder: string;

  beforeAll(async () => {
    server = await startS3Server();
    spoolFolder = await mkdtemp(join(tmpdir(), 'spool-'));
  });
  afterAll(async () => {
    await server.close();
    await rm(spoolFolder, { recursive: true });
  });

  describeStore('s3', async (dataDir) => ({
    store: await openObjectStore({ dataDir, baseUrl: () => '', store: { kind: 's3', ...server.account } }),
    leftovers: async () => [...await server.keys(), ...await filesBelow(dataDir)],
  }));

  it.each([
    ['a wrong secret', { secretKey: 'wrong' }, '403 (SignatureDoesNotMatch)'],
    ['an unknown key', { accessKey: 'test:nobody' }, '403 (SignatureDoesNotMatch)'],
    ['a bucket that is missing', { bucket: 'missing' }, '404 (NoSuchBucket)'],
  ])('is unavailable with %s, and tells the operator so', async (_fault, change, answer) => {
    const store = await openS3Store({ ...server.account, ...change, spoolFolder });
    const attempts = [store.check(), store.put('a/b.pdf', bodyOf('x'), 'application/pdf')];
    for (const attempt of attempts) {
      const error: unknown = await attempt.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'dependency_unavailable', cause: { message: `The object store answered ${answer}` } });
    }
  });
});

describe('the S3 store without its server', () => {
  let spoolFolder: string;
  const account = { region: 'us-east-1', bucket: 'documents', accessKey: 'key', secretKey: 'a secret' };

  beforeAll(async () => { spoolFolder = await mkdtemp(join(tmpdir(), 'spool-')); });
  afterAll(() => rm(spoolFolder, { recursive: true }));

  const faults: [string, RequestListener][] = [
    ['is overloaded', (request, response) => { request.resume(); response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>'); }],
    ['redirects', (request, response) => { request.resume(); response.writeHead(301, { location: '/elsewhere' }).end(); }],
    ['never answers', (request) => { request.resume(); }],
    ['hangs up in the middle', (request) => { request.once('data', () => { request.socket.destroy(); }).resume(); }],
    ['hangs up at once', (request) => { request.socket.destroy(); }],
  ];

  it.each(faults)('is unavailable, within its time limit, when the server %s', async (_fault, listener) => {
    const { server, origin } = await listen(listener);
    const store = await openS3Store({ ...account, endpoint: origin, spoolFolder, timeout: 300 });
    const attempts = [
      store.put('a/b.pdf', bodyOf(randomBytes(3_000_000)), 'application/pdf'), store.remove('a/b.pdf'), store.check(),
    ];
    expect(await Promise.all(attempts.map(codeOf))).toEqual(Array(3).fill('dependency_unavailable'));
    expect(await readdir(spoolFolder)).toEqual([]);
    await closeServer(server);
    expect(await codeOf(store.check())).toBe('dependency_unavailable');
  });

  it('never writes a signed URL or the secret into an error', async () => {
    const store = await openS3Store({ ...account, endpoint: 'http://127.0.0.1:1', spoolFolder });
    const error: unknown = await store.check().catch((reason: unknown) => reason);
    const text = error instanceof Problem ? JSON.stringify([error, error.stack, error.cause, String(error.cause)]) : '';
    expect(text).toContain('ECONNREFUSED');
    expect(text).not.toMatch(/X-Amz|secret|documents\?/);
  });

  it('refuses an endpoint that is no origin', async () => {
    await expect(openS3Store({ ...account, endpoint: 'https://s3.example.com/path', spoolFolder })).rejects.toThrow('S3_ENDPOINT');
  });
});
