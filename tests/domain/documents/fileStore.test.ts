import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { v7 } from 'uuid';
import { rotateSigningKeys } from '../../../src/adapters/tokens/signingKeys.js';
import { codeOf } from '../../support/downloads.js';
import { temporaryFolder } from '../../support/folder.js';
import { bodyOf, filesBelow, openFileSubject } from '../../support/objectStores.js';
import { words } from '../../support/words.js';

const pdfObject = { fileName: 'scan.pdf', contentType: 'application/pdf' };
const lifetime = 900;
const keyOf = (fileName: string) => `glow/clients/${randomBytes(8).toString('hex')}/lab-results/d1/${fileName}`;

let clock = () => new Date();
const dataDir = temporaryFolder()();
const subject = await openFileSubject(dataDir, () => clock());
afterAll(() => subject.close());

describe('the file store', () => {
  const linkTo = (key: string, from = new Date()) => subject.store.link(key, pdfObject, from, lifetime);
  const put = async (content = 'x', key = keyOf('scan.pdf')): Promise<string> => {
    await subject.store.put(key, bodyOf(content), 'application/pdf');
    return key;
  };

  it('refuses a link with one character changed, dropped or doubled, a later expiry or another document', async () => {
    const [link = '', other = ''] = await Promise.all(
      ['a', 'b'].map(async (name) => (await linkTo(keyOf(name))).split('/').at(-1)),
    );
    const opens = async (text: string) => (await subject.store.openLink?.(text, new Date())) !== undefined;
    expect(await opens(link)).toBe(true);
    for (let at = 0; at < link.length; at += 1) {
      const [head, letter, tail] = [link.slice(0, at), link.slice(at, at + 1), link.slice(at + 1)];
      for (const change of ['A', 'B', 'a', '-', '.', '=', '', letter + letter]) {
        if (change !== letter) expect([at, change, await opens(head + change + tail)]).toEqual([at, change, false]);
      }
    }
    const [head = '', payload = '', signature = ''] = link.split('.');
    const textOf = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const { key, exp }: { key: string; exp: number } = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const later = textOf({ key, exp: exp + 1 });
    const unsigned = textOf({ alg: 'none', typ: 'JWT' });
    const added = [`${link}.`, `.${link}`, `${link}.x`, `${link}A`, `${link}=`];
    const mixed = [`${head}.${later}.${signature}`, `${head}.${other.split('.')[1]}.${signature}`];
    const forged = [`${unsigned}.${payload}.`, `${unsigned}.${later}.`, `${unsigned}.${payload}.${signature}`];
    const madeUp = ['', '.', 'a.b', 'a.b.c', head, `${head}.${payload}`, `${head}.${payload}.`, `.${signature}`];
    for (const text of [...madeUp, ...added, ...mixed, ...forged])
      expect([text, await opens(text)]).toEqual([text, false]);
  });

  it('expires a link by the service’s clock, exact to the millisecond', async () => {
    const key = await put();
    const from = new Date('2031-01-01T00:00:00.000Z');
    const link = await linkTo(key, from);
    try {
      const statuses = [];
      for (const elapsed of [0, 899_999, 900_000, 1e9]) {
        clock = () => new Date(from.getTime() + elapsed);
        statuses.push((await fetch(link)).status);
      }
      expect(statuses).toEqual([200, 200, 403, 403]);
    } finally {
      clock = () => new Date();
    }
  });

  it('gives the same answer to changed, expired and invented links, with headers that prevent scripts and caching', async () => {
    const key = keyOf('scan.pdf');
    const link = await linkTo(key);
    const madeUp = ['x', '..%2f..%2fetc%2fpasswd'].map((text) => `${subject.origin}/files/${text}`);
    const refusals = [`${link}x`, await linkTo(key, new Date(0)), ...madeUp];
    for (const refused of refusals) {
      const response = await fetch(refused);
      expect([response.status, await response.text()]).toEqual([
        403,
        'This link is not valid or has expired. Retrieve the document again for a new link.\n',
      ]);
    }
    await put('<script>alert(1)</script>', key);
    for (const url of [link, ...refusals]) {
      expect(Object.fromEntries((await fetch(url)).headers)).toMatchObject({
        'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox",
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, no-store',
        'referrer-policy': 'no-referrer',
      });
    }
  });

  it('answers HEAD like GET, and 405 to other methods', async () => {
    const link = await linkTo(await put('12345'));
    const head = await fetch(link, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '5', '']);
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const response = await fetch(link, { method });
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD']);
    }
    expect((await fetch(link)).status).toBe(200);
  });

  it.each([
    ...words('../outside a/../../outside /etc/passwd a//b . a/. a/./b a/.hidden .incoming/x a/'),
    '',
    'a\\..\\b',
    'a/b\u0000.pdf',
    `a/${'x'.repeat(256)}`,
  ])('refuses an object key that is not a relative path of plain names: %j', async (key) => {
    const before = await filesBelow(dataDir);
    await expect(subject.store.put(key, bodyOf('x'), 'application/pdf')).rejects.toThrow('not valid');
    await expect(subject.store.remove(key)).rejects.toThrow('not valid');
    expect(await filesBelow(dataDir)).toEqual(before);
  });

  it('removes an object but not its folder, which a concurrent upload may need', async () => {
    const key = await put();
    await subject.store.remove(key);
    expect(await readdir(join(dataDir, 'documents', dirname(key)))).toEqual([]);
  });

  it('makes files readable only by the owner, and keeps links valid over a restart and a rotation of the keys', async () => {
    const link = (await linkTo(await put())).split('/').at(-1) ?? '';
    const file = await subject.store.openLink?.(link, new Date());
    expect((await stat(file?.path ?? '')).mode & 0o777).toBe(0o600);
    const again = await openFileSubject(dataDir);
    const rotate = () =>
      rotateSigningKeys(join(dataDir, 'keys.json'), {
        now: new Date(),
        newId: () => v7(),
        retireAfter: 0,
        force: true,
      });
    await rotate();
    const newer = (await again.store.link('a/b', pdfObject, new Date(), lifetime)).split('/').at(-1) ?? '';
    for (const store of [subject.store, again.store]) {
      expect(await store.openLink?.(link, new Date())).toEqual(file);
      expect(await store.openLink?.(newer, new Date())).toMatchObject({ key: 'a/b' });
    }
    await rotate();
    expect(await again.store.openLink?.(link, new Date())).toBeUndefined();
    await again.close();
  });

  it('answers dependency_unavailable while its folder is missing', async () => {
    await rename(join(dataDir, 'documents'), join(dataDir, 'moved'));
    expect(await codeOf(subject.store.check())).toBe('dependency_unavailable');
    const attempt = subject.store.put(keyOf('a.pdf'), bodyOf('x'), 'application/pdf');
    expect(await codeOf(attempt)).toBe('dependency_unavailable');
    await rename(join(dataDir, 'moved'), join(dataDir, 'documents'));
    await expect(subject.store.check()).resolves.toBeUndefined();
  });

  it('answers dependency_unavailable if the disk fails while an object is read', async () => {
    const key = keyOf('folder.pdf');
    // A folder can be opened, but not read.
    await mkdir(join(dataDir, 'documents', key), { recursive: true });
    expect(await codeOf(text(subject.store.read(key)))).toBe('dependency_unavailable');
  });
});
