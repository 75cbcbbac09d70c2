import { createHmac, createSecretKey, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../../failures.js';

/** The content of a link. Proxies log links, so the file's name, which may be health data, is not in it. */
interface FileLink {
  readonly key: string;
  /** When the link expires, in milliseconds since 1970; the link is invalid from then on. */
  readonly expiresAt: number;
}

/** Creates and reads the text of links: `<base64url of the content>.<base64url of its HMAC-SHA256>`. */
export interface FileLinks {
  sign(content: FileLink): string;
  /** The key and the expiry in a link; undefined if the link is forged or has expired. */
  open(text: string, now: Date): FileLink | undefined;
}

const secretLength = 32;

/** Creates and checks links. Compares signatures as text (several texts decode to one), and in constant time. */
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
      // The content is trustworthy: a valid signature proves that `sign` created it.
      const [key, expiresAt] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [string, number];
      return now.getTime() < expiresAt ? { key, expiresAt } : undefined;
    },
  };
}

/** Reads the secret for links, which the first process creates for all. @throws Error if it does not have 32 bytes */
export async function loadLinkSecret(path: string): Promise<KeyObject> {
  const secret = await readFile(path).catch(() => createSecret(path));
  if (secret.length !== secretLength) throw new Error(`${path} must have ${secretLength} bytes. Remove it.`);
  return createSecretKey(secret);
}

async function createSecret(path: string): Promise<Buffer> {
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(draft, randomBytes(secretLength), { mode: 0o600, flag: 'wx', flush: true });
  try {
    // A hard link fails if the file exists, whereas a rename would replace the secret of a faster process.
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
