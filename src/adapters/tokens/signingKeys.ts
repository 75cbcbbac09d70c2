import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { JsonWebKey, KeyObject } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** An ES256 key pair. Tokens name the key by its `kid`. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly createdAt: Date;
}

/** The active keys, newest first. The first one signs; all verify. */
export interface SigningKeys {
  /** The keys now. Rereads the file if it has changed, so that a rotation needs no restart. */
  current(): Promise<readonly [SigningKey, ...SigningKey[]]>;
}

type StoredKey = JsonWebKey & { kid: string; created_at: string };

const LIVE_KEYS = 2;

/**
 * Opens the file of private keys (a JWKS, mode 0600). @param create make a missing file
 * @param onUnreadable receives errors when the file changes later
 * @throws Error naming the file if it is missing, is not a JWKS of ES256 private keys, or has a damaged or no key
 */
export async function openSigningKeys(
  file: string,
  create: { now: Date; newId: () => string } | null,
  onUnreadable: (error: unknown) => void,
): Promise<SigningKeys> {
  if (create && !changedAt(file)) await writeKeys(file, [newKey(create.now, create.newId())]);
  let version = changedAt(file);
  let keys = Promise.resolve(await readKeys(file));
  return {
    async current() {
      const found = changedAt(file);
      if (found && found !== version) {
        version = found;
        const before = keys;
        // A damaged file must not stop a running service: keep the keys that were read last.
        keys = readKeys(file).catch((error: unknown) => {
          onUnreadable(error);
          return before;
        });
      }
      return keys;
    },
  };
}

/**
 * Adds a new signing key, and keeps only one of the earlier keys, the newest.
 * @param retireAfter lifetime of tokens in seconds
 * @throws Error if a valid token could lose its key, unless `force`
 */
export async function rotateSigningKeys(
  file: string,
  { now, newId, retireAfter, force }: { now: Date; newId: () => string; retireAfter: number; force: boolean },
): Promise<{ kid: string; retired: string[] }> {
  const stored = changedAt(file) ? parseKeys(file, await readFile(file, 'utf8')) : [];
  // The key to drop signed tokens until the newest key was created; the last one expires `retireAfter` later.
  const safeFrom = stored[0] && stored[1] ? Date.parse(stored[0].created_at) + retireAfter * 1000 : 0;
  if (now.getTime() < safeFrom && !force) {
    throw new Error(
      `The oldest signing key may have signed tokens that are valid until ${new Date(safeFrom).toISOString()}. ` +
        'Rotate after that, or use --force: those clients then obtain new tokens with their credentials.',
    );
  }
  const added = newKey(now, newId());
  await writeKeys(file, [added, ...stored.slice(0, LIVE_KEYS - 1)]);
  return { kid: added.kid, retired: stored.slice(LIVE_KEYS - 1).map(({ kid }) => kid) };
}

function newKey(now: Date, kid: string): StoredKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), kid, created_at: now.toISOString() };
}

async function readKeys(file: string): Promise<[SigningKey, ...SigningKey[]]> {
  const stored = parseKeys(file, await readFile(file, 'utf8'));
  const [first, ...others] = stored.map((key) => openKey(file, key));
  if (!first) throw new Error(`${file} contains no signing key: add one with "scripts/ces keys rotate"`);
  return [first, ...others];
}

function openKey(file: string, stored: StoredKey): SigningKey {
  const { kid, created_at: createdAt } = stored;
  try {
    const privateKey = createPrivateKey({ key: stored, format: 'jwk' });
    const publicKey = createPublicKey(privateKey);
    // Node accepts a public key that does not belong to the private one; then all tokens would be rejected.
    const sample = Buffer.from(kid);
    if (verify('sha256', sample, publicKey, sign('sha256', sample, privateKey))) {
      return { kid, privateKey, publicKey, createdAt: new Date(createdAt) };
    }
  } catch {
    // Drop the cause, which may quote key material.
  }
  throw new Error(
    `${file} contains a damaged key, ${kid}: restore the file from a backup, copy that of another server, or see "scripts/ces doctor"`,
  );
}

function parseKeys(file: string, text: string): StoredKey[] {
  try {
    const parsed: unknown = JSON.parse(text);
    const { keys } = Object(parsed) as { readonly keys?: unknown };
    if (Array.isArray(keys) && keys.every(isKey)) return keys;
  } catch {
    // Drop the cause, which would quote the file.
  }
  throw new Error(
    `${file} is not a JWKS of ES256 private keys with kid and created_at: restore it from a backup, copy that of another server, or see "scripts/ces doctor"`,
  );
}

/** Whether a value is a complete key. Rotation needs `created_at`, to know when the key's tokens have expired. */
function isKey(key: unknown): key is StoredKey {
  const { kid, created_at: createdAt, crv, d } = Object(key) as Readonly<Record<string, unknown>>;
  const hasTime = typeof createdAt === 'string' && !Number.isNaN(Date.parse(createdAt));
  return hasTime && typeof kid === 'string' && crv === 'P-256' && d !== undefined;
}

/** Replaces the file atomically, so that concurrent readers see either the old or the new keys. */
async function writeKeys(file: string, keys: readonly [StoredKey, ...StoredKey[]]): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const before = await stat(file).catch(() => null);
  // Use a unique name, so that two concurrent rotations do not write the same file.
  const draft = `${file}.${keys[0].kid}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    // Keep the file's owner: the server must be able to read it even if root rotated the keys.
    if (before) await handle.chown(before.uid, before.gid);
    await handle.writeFile(`${JSON.stringify({ keys }, null, 2)}\n`);
    await handle.sync();
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/** A text that changes with the file, its mode or its owner; null if it is missing. Synchronous, because it runs at each use of the keys: the thread pool costs more. */
function changedAt(file: string): string | null {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats ? `${stats.ctimeNs}-${stats.ino}` : null;
}
