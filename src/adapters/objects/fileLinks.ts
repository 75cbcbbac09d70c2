import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import jwt from 'jsonwebtoken';
import { errorCode } from '../../failures.js';

/** Creates and reads the text of links, which are JSON Web Tokens. */
export type FileLinks = ReturnType<typeof createFileLinks>;

const secretLength = 32;

export const createFileLinks = (secret: KeyObject) => ({
  /** Proxies log links, so the file's name, which may be health data, is not in it. */
  sign: (key: string, expiresAt: Date): string =>
    jwt.sign({ key, exp: secondsOf(expiresAt) }, secret, { algorithm: 'HS256', noTimestamp: true }),
  /** The key in a link; undefined if the link is forged or has expired. */
  open(text: string, now: Date): string | undefined {
    try {
      const options = { algorithms: ['HS256' as const], clockTimestamp: secondsOf(now) };
      return (jwt.verify(text, secret, options) as { readonly key: string }).key;
    } catch {
      return undefined;
    }
  },
});

const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000);

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
