import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import type { SigningKey, SigningKeys } from '../tokens/signingKeys.js';

/** Creates and opens links to the files of this service, which end with a JSON Web Token. */
export type FileLinks = ReturnType<typeof createFileLinks>;

/**
 * Signs links with a secret derived from the newest signing key, and opens them with those of all keys.
 * @param baseUrl the service's public address without a final slash; read for each link
 */
export const createFileLinks = (keys: SigningKeys, baseUrl: () => string) => ({
  /** Keep the file's name, which may be health data, out of the link: proxies log links. */
  async sign(key: string, expiresAt: Date): Promise<string> {
    const [newest] = await keys.current();
    const claims = { key, exp: secondsOf(expiresAt) };
    return `${baseUrl()}/files/${jwt.sign(claims, secretOf(newest), { algorithm: 'HS256', noTimestamp: true })}`;
  },
  /** The key in the last segment of a link; undefined if the link is forged or has expired. */
  async open(text: string, now: Date): Promise<string | undefined> {
    const options = { algorithms: ['HS256' as const], clockTimestamp: secondsOf(now) };
    for (const signingKey of await keys.current()) {
      try {
        return (jwt.verify(text, secretOf(signingKey), options) as { readonly key: string }).key;
      } catch {
        // The other key may have signed the link.
      }
    }
    return undefined;
  },
});

/** Derives a secret from a signing key: every server accepts the link, and none accepts it as a token. */
const secretOf = ({ privateKey }: SigningKey): KeyObject =>
  createSecretKey(
    Buffer.from(hkdfSync('sha256', privateKey.export({ format: 'der', type: 'pkcs8' }), '', 'file links', 32)),
  );

const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000);
