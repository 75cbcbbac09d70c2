import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { linkSecretFile } from '../../adapters/objects/openObjectStore.js';
import { readConfig } from '../../config.js';
import { nullIfMissing } from '../../failures.js';
import type { CliIo } from '../cliIo.js';
import { dirname } from 'node:path';

/** Cost of scrypt (RFC 7914) against guessing: 128 MiB and about half a second per attempt. */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 ** 2 };
/** The strength of a new passphrase. An old, weaker one still opens its backup. */
const MIN_LENGTH = 16;
const MIN_CHARACTERS = 8;
const CIPHER = 'aes-256-gcm';

interface Sealed {
  readonly salt: string;
  readonly iv: string;
  readonly tag: string;
  readonly data: string;
}

/** The passphrase in BACKUP_PASSPHRASE. @throws Error if there is none */
export function passphrase({ environment }: CliIo): string {
  const given = readConfig(environment).backupPassphrase;
  if (!given) throw new Error('The signing keys in a backup are encrypted: set BACKUP_PASSPHRASE.');
  return given;
}

/** The files of the signing keys and of the secret of links. */
const keyFiles = ({ environment }: CliIo): readonly string[] => {
  const { signingKeysFile, dataDir } = readConfig(environment);
  return [signingKeysFile, linkSecretFile(dataDir)];
};

/** Encrypts the signing keys and, if there is one, the secret of links: with an S3 store, there is none. */
export async function sealedKeys(terminal: CliIo, secret: string): Promise<string> {
  if (secret.length < MIN_LENGTH || new Set(secret).size < MIN_CHARACTERS) {
    throw new Error(
      `BACKUP_PASSPHRASE can be guessed: give it at least ${MIN_LENGTH} characters, of which ${MIN_CHARACTERS} differ.`,
    );
  }
  const contents = await Promise.all(keyFiles(terminal).map(contentOf));
  if (contents.every((content) => content === null))
    throw new Error(`There is no ${keyFiles(terminal)[0]}. Run the command on a server, or omit --with-keys.`);
  const [salt, iv] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv(CIPHER, scryptSync(secret, salt, 32, COST), iv);
  const data = Buffer.concat([cipher.update(JSON.stringify(contents)), cipher.final()]);
  const parts = { salt, iv, tag: cipher.getAuthTag(), data };
  return JSON.stringify(
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.toString('base64')])),
  );
}

/**
 * Decrypts keys. @returns a function that writes them @throws Error for a wrong passphrase, or another existing file
 */
export async function openedKeys(terminal: CliIo, text: string, secret: string): Promise<() => Promise<void>> {
  const sealed = JSON.parse(text) as Sealed;
  const part = (name: keyof Sealed): Buffer => Buffer.from(sealed[name], 'base64');
  const decipher = createDecipheriv(CIPHER, scryptSync(secret, part('salt'), 32, COST), part('iv'));
  decipher.setAuthTag(part('tag'));
  const contents = ((): readonly (string | null)[] => {
    try {
      const text = Buffer.concat([decipher.update(part('data')), decipher.final()]).toString();
      return JSON.parse(text) as (string | null)[];
    } catch {
      throw new Error('BACKUP_PASSPHRASE is not the passphrase of the keys in this backup.');
    }
  })();
  const files = keyFiles(terminal).map((file, index) => ({ file, content: contents[index] ?? null }));
  const missing: { file: string; content: string }[] = [];
  for (const { file, content } of files) {
    const present = await contentOf(file);
    if (content === null || content === present) continue;
    if (present !== null) throw new Error(`${file} exists with different content. Move it away, or omit --with-keys.`);
    missing.push({ file, content });
  }
  return async () => {
    for (const { file, content } of missing) {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, Buffer.from(content, 'base64'), { mode: 0o600, flag: 'wx', flush: true });
    }
  };
}

/** The content of a file in Base64; null if the file does not exist. */
const contentOf = (file: string): Promise<string | null> => readFile(file, 'base64').catch(nullIfMissing);
