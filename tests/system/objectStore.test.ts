import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { openObjectStore } from '../../src/adapters/objects/openObjectStore.js';
import type { ObjectStore } from '../../src/adapters/objects/objectStore.js';
import { openS3Store } from '../../src/adapters/objects/s3Store.js';
import { Problem } from '../../src/problem.js';
import { temporaryFolder } from '../support/folder.js';
import { bodyOf, filesBelow, openFileSubject, type Subject } from '../support/objectStores.js';
import { hasS3Server, startS3Server, type S3Server } from '../support/s3.js';

const pdfObject = { fileName: 'scan.pdf', contentType: 'application/pdf' };
const lifetime = 900;
const keyOf = (fileName: string) => `glow/clients/${randomBytes(8).toString('hex')}/lab-results/d1/${fileName}`;
const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');

/** The contract of an ObjectStore, which every driver must meet. */
function describeStore(provider: 'file' | 's3', open: (dataDir: string) => Promise<Subject>): void {
  let subject: Subject;
  let store: ObjectStore;
  const folder = temporaryFolder();
  beforeAll(async () => {
    // The name starts with a dot, like the default DATA_DIR.
    subject = await open(folder('.data'));
    store = subject.store;
  });
  afterAll(() => subject.close());

  const linkTo = (key: string, object = pdfObject, from = new Date()) => store.link(key, object, from, lifetime);
  const put = async (fileName: string, content: Uint8Array | string = 'content') => {
    const key = keyOf(fileName);
    await store.put(key, bodyOf(content), 'application/pdf');
    return key;
  };

  it('reports its provider and container, and passes its check', async () => {
    expect([store.provider, store.container]).toEqual([provider, 'documents']);
    await expect(store.check()).resolves.toBeUndefined();
  });

  it('returns a stored object byte for byte', async () => {
    const chunks = Array.from({ length: 100 }, (_, index) => randomBytes(index * 300));
    const key = keyOf('big.pdf');
    await store.put(key, Readable.from(chunks), 'application/pdf');
    const response = await fetch(await linkTo(key));
    const content = Buffer.from(await response.arrayBuffer());
    expect([response.status, sha256(content)]).toEqual([200, sha256(Buffer.concat(chunks))]);
    expect(sha256(await buffer(store.read(key)))).toBe(sha256(content));
  });

  it('rejects the read of a missing object with an error that does not contain the signed URL', async () => {
    const failure = await buffer(store.read(keyOf('none.pdf'))).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'dependency_unavailable' });
    expect(inspect(failure, { depth: null })).not.toContain('Signature');
  });

  it('serves a link as a download of its content type that caches must not store', async () => {
    const key = await put('scan.pdf');
    const { headers } = await fetch(await linkTo(key, { fileName: 'scan.pdf', contentType: 'image/png' }));
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': 'attachment; filename=scan.pdf',
      'cache-control': 'private, no-store',
      'content-length': '7',
    });
  });

  it('serves byte ranges, and answers 416 beyond the end', async () => {
    const link = await linkTo(await put('part.pdf', '0123456789'));
    const part = async (range: string) => {
      const response = await fetch(link, { headers: { range } });
      const text = response.status === 206 && (await response.text());
      return [response.status, response.headers.get('content-range'), text];
    };
    expect(await part('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234']);
    expect(await part('bytes=-3')).toEqual([206, 'bytes 7-9/10', '789']);
    expect((await part('bytes=10-'))[0]).toBe(416);
  });

  it.each([
    'a b.pdf',
    '100%.pdf',
    'a%20b.pdf',
    '#1?x=y&z.pdf',
    '"quoted"; filename=evil.html.pdf',
    "it's (1).pdf",
    'a+b=c,d.pdf',
    'Blüte é.pdf',
    '血液検査.pdf',
    '👩‍⚕️.pdf',
    'نتيجة.pdf',
    '__proto__.pdf',
    `${'x'.repeat(251)}.pdf`,
    `${'é'.repeat(125)}.pdf`,
  ])('stores and serves a file called %s', async (fileName) => {
    const key = await put(fileName, fileName);
    const response = await fetch(await linkTo(key, { ...pdfObject, fileName }));
    expect([response.status, await response.text()]).toEqual([200, fileName]);
    const disposition = response.headers.get('content-disposition') ?? '';
    // RFC 6266 and RFC 8187: a token or a quoted string, optionally followed by the name in UTF-8.
    const plainName = /filename=(?:([\w!#$%&'*+.^`|~-]+)|"((?:[ !#-[\]-~]|\\["\\])*)")/.source;
    const extendedName = /(?:; filename\*=UTF-8''([\w%.!#$&+^`|~-]+))?/.source;
    const grammar = new RegExp(`^attachment; ${plainName}${extendedName}$`);
    const [, token, quoted, extended] = grammar.exec(disposition) ?? [];
    const plain = token ?? quoted?.replace(/\\(.)/g, '$1');
    expect(extended === undefined ? plain : decodeURIComponent(extended)).toBe(fileName);
  });

  it('serves a link until it expires, and answers 403 afterwards', async () => {
    const key = await put('late.pdf');
    const [ago840, ago901] = [840, 901].map((seconds) => new Date(Date.now() - seconds * 1000));
    expect((await fetch(await linkTo(key, pdfObject, ago840))).status).toBe(200);
    expect((await fetch(await linkTo(key, pdfObject, ago901))).status).toBe(403);
  });

  it('answers 403 to a link that was changed', async () => {
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

  it('answers 404 for a removed object, and accepts a second removal', async () => {
    const key = await put('gone.pdf');
    const link = await linkTo(key);
    await store.remove(key);
    await expect(store.remove(key)).resolves.toBeUndefined();
    const response = await fetch(link);
    expect([response.status, response.headers.get('content-disposition')]).toEqual([404, null]);
    expect(await subject.leftovers()).not.toContain('gone.pdf');
  });

  it('answers 404 for an object until it is complete', async () => {
    const key = keyOf('slow.pdf');
    const link = await linkTo(key);
    async function* body() {
      yield randomBytes(200_000);
      expect((await fetch(link)).status).toBe(404);
      yield Buffer.from('end');
    }
    await store.put(key, body(), 'application/pdf');
    expect((await (await fetch(link)).arrayBuffer()).byteLength).toBe(200_003);
  });

  it('keeps no part of a body that fails, and rejects with its error', async () => {
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
});

const describeOnS3 = hasS3Server() ? describe : describe.skip;

describeOnS3('the S3 store', () => {
  let server: S3Server;
  const spool = temporaryFolder();

  beforeAll(async () => {
    server = await startS3Server();
  });
  afterAll(() => server.close());

  describeStore('s3', async (dataDir) => ({
    store: await openObjectStore({ dataDir, store: { kind: 's3', ...server.account } }),
    leftovers: async () => [...(await server.keys()), ...(await filesBelow(dataDir))],
    close: async () => undefined,
  }));

  it('does not fail when the time limit of a completed request passes', async () => {
    const timeout = 1_500;
    const uncaught: unknown[] = [];
    const note = (error: unknown): void => void uncaught.push(error);
    process.on('uncaughtException', note);
    try {
      const store = await openS3Store({ ...server.account, spoolFolder: spool(), timeout });
      await store.put('glow/a.pdf', bodyOf('x'), 'application/pdf');
      expect(await text(store.read('glow/a.pdf'))).toBe('x');
      await store.check();
      await store.remove('glow/a.pdf');
      // Wait until the time limits of these requests have passed.
      await once(AbortSignal.timeout(timeout + 100), 'abort');
      await new Promise(setImmediate);
    } finally {
      process.off('uncaughtException', note);
    }
    expect(uncaught).toEqual([]);
  });
});
