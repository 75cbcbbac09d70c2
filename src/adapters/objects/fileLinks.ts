import { createHmac, createSecretKey, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../../failures.js';

/** Everything that a link stands for. The name of a file may be health data, and proxies log links. */
interface FileLink {
  readonly key: string;
  /** The link works before this instant: milliseconds since 1970. */
  readonly expiresAt: number;
}

/** Makes and reads the text of links: `<base64url of the content>.<base64url of its HMAC-SHA256>`. */
export interface FileLinks {
  sign(content: FileLink): string;
  /** The content of a link made with the same secret, unchanged and not expired; otherwise undefined. */
  open(text: string, now: Date): FileLink | undefined;
}

const secretLength = 32;

/** The signature is compared as text (decoding would accept several spellings of one) and in constant time. */
export function createFileLinks(secret: KeyObject): FileLinks {
  const signatureOf = (payload: string) => createHmac('sha256', secret).update(payload).digest('base64url');
  return {
    sign({ key, expiresAt }) {
      const content = JSON.stringify([key, expiresAt]);
      const payload = Buffer.from(content).toString('base64url');
      return `${payload}.${signatureOf(payload)}`;
    },
    open(text, now) {
      const [payload = '', signature = '', ...more] = text.split('.');
      if (more.length > 0 || !sameText(signature, signatureOf(payload))) return undefined;
      // Signed by us, so it is what `sign` made.
      const content: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
      const fields: readonly unknown[] = Array.isArray(content) ? content : [];
      // Links of earlier versions have name and type between the two.
      const [key, expiresAt] = [fields[0], fields.at(-1)];
      if (typeof key !== 'string' || typeof expiresAt !== 'number' || now.getTime() >= expiresAt) return undefined;
      return { key, expiresAt };
    },
  };
}

/** The secret that signs links, from a file; one process makes it for all. @throws Error when it has not 32 bytes */
export async function loadLinkSecret(path: string): Promise<KeyObject> {
  const secret = await readFile(path).catch(() => createSecret(path));
  if (secret.length !== secretLength) throw new Error(`${path} does not hold ${secretLength} bytes; remove it`);
  return createSecretKey(secret);
}

async function createSecret(path: string): Promise<Buffer> {
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(draft, randomBytes(secretLength), { mode: 0o600, flag: 'wx', flush: true });
  try {
    // Unlike a rename, a link never replaces the secret of a process that was faster.
    await link(draft, path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path);
}

function sameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
