import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { readConfig } from '../../config.js';
import { messageOf, nullIfMissing } from '../../failures.js';
import type { CliIo } from '../cliIo.js';
import { dirname } from 'node:path';

/** Cost of scrypt (RFC 7914) against guessing: 128 MiB and about half a second per attempt. */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 ** 2 };
/** The minimum strength for new backups. A weaker passphrase still opens the backup that was made with it. */
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
  if (!given)
    throw new Error(
      'The signing keys in a backup are encrypted: set BACKUP_PASSPHRASE (for a restore, that of the backup).',
    );
  return given;
}

/** Encrypts the signing keys. @throws Error for a weak passphrase, or if there are no keys */
export async function sealedKeys({ environment }: CliIo, secret: string): Promise<string> {
  if (secret.length < MIN_LENGTH || new Set(secret).size < MIN_CHARACTERS) {
    throw new Error(
      `BACKUP_PASSPHRASE can be guessed: give it at least ${MIN_LENGTH} characters, of which ${MIN_CHARACTERS} differ.`,
    );
  }
  const file = readConfig(environment).signingKeysFile;
  const content = await readFile(file).catch(nullIfMissing).catch(unusable(file));
  if (content === null)
    throw new Error(
      `There is no ${file}. Correct SIGNING_KEYS_FILE or DATA_DIR, run the command on a server, or omit --with-keys.`,
    );
  const [salt, iv] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv(CIPHER, scryptSync(secret, salt, 32, COST), iv);
  const data = Buffer.concat([cipher.update(content), cipher.final()]);
  const parts = { salt, iv, tag: cipher.getAuthTag(), data };
  return JSON.stringify(
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.toString('base64')])),
  );
}

/** Decrypts and writes the signing keys. @throws Error for a wrong passphrase, or if the file exists with other content */
export async function openKeys({ environment }: CliIo, text: string, secret: string): Promise<void> {
  const content = decrypted(JSON.parse(text) as Sealed, secret);
  const file = readConfig(environment).signingKeysFile;
  const present = await readFile(file).catch(nullIfMissing).catch(unusable(file));
  if (present?.equals(content)) return;
  if (present) throw new Error(`${file} differs from the keys in the backup. Move it away, or omit --with-keys.`);
  await mkdir(dirname(file), { recursive: true })
    // Write another file first: if the disk is full, cut keys would stop the service and a repeated restore.
    .then(() => writeFile(`${file}.new`, content, { mode: 0o600, flush: true }))
    .then(() => rename(`${file}.new`, file))
    .catch(unusable(file));
}

const unusable = (file: string) => (cause: unknown) => {
  throw new Error(
    `${file} cannot be used: ${messageOf(cause)}. Run the command as the user of the service, free space on that disk, or correct SIGNING_KEYS_FILE or DATA_DIR.`,
    { cause },
  );
};

function decrypted(sealed: Sealed, secret: string): Buffer {
  const part = (name: keyof Sealed): Buffer => Buffer.from(sealed[name], 'base64');
  const decipher = createDecipheriv(CIPHER, scryptSync(secret, part('salt'), 32, COST), part('iv'));
  decipher.setAuthTag(part('tag'));
  try {
    return Buffer.concat([decipher.update(part('data')), decipher.final()]);
  } catch {
    throw new Error(
      'BACKUP_PASSPHRASE is not the passphrase of the keys in this backup. Set that one, or omit --with-keys.',
    );
  }
}
