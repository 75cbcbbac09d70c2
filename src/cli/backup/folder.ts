import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../adapters/dataDir.js';
import { errorCode, messageOf } from '../../failures.js';

const MANIFEST = 'manifest.json';
const OBJECTS = 'objects';
const UUID = '[\\da-f]{8}(-[\\da-f]{4}){3}-[\\da-f]{12}';
/** The names of this program's files; others may be in the folder. */
const OWN = new RegExp(`^(database-${UUID}\\.dump|keys-${UUID}\\.json|.+\\.${UUID}\\.part)$`);
const OWN_OBJECT = new RegExp(`^[\\da-f]{64}(\\.${UUID}\\.part)?$`);
/** Objects that are copied at the same time. */
const CONCURRENCY = 8;

/** An object of the backup, in `objects/` by its digest. */
export interface BackedUpObject {
  readonly key: string;
  readonly contentType: string;
  /** SHA-256, hex, as are all digests. */
  readonly sha256: string;
}

/** The content of a backup, in `manifest.json`. */
export interface Manifest {
  readonly format: 1;
  /** By the database's clock. */
  readonly takenAt: string;
  /** Of the service. */
  readonly version: string;
  /** Major versions. */
  readonly postgres: { readonly server: number; readonly program: number };
  /** Identifies the database in its cluster; earlier versions did not note it. */
  readonly database?: string;
  readonly migrations: readonly string[];
  readonly dump: { readonly file: string; readonly sha256: string };
  /** Numbers of rows, by table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly objects: readonly BackedUpObject[];
  /** Keys that the dump names and the object store lacked. */
  readonly missing: readonly string[];
  /** The encrypted keys, if they are in the backup. */
  readonly keys: { readonly file: string; readonly sha256: string } | null;
}

export const objectFile = (folder: string, sha256: string): string => join(folder, OBJECTS, sha256);

/** Creates the folder if necessary. Only the owner may read it, or else its files. */
export const makeBackupFolder = (folder: string): Promise<void> => makeFolder(join(folder, OBJECTS), 0o700);

/** @throws Error if the folder contains no backup of this format */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch((cause: unknown) => {
    throw new Error(`${folder} contains no backup: ${messageOf(cause)}`, { cause });
  });
  const manifest = JSON.parse(text) as Manifest | { readonly format: unknown };
  if (manifest.format === 1) return manifest as Manifest;
  throw new Error(`${folder} has a backup of another format, by another version.`);
}

/** @throws Error if the folder contains the backup of another database */
export async function assertFolderOf(folder: string, database: string): Promise<void> {
  if (!existsSync(join(folder, MANIFEST))) return;
  const { database: other = database, takenAt } = await readManifest(folder);
  if (other !== database)
    throw new Error(`${folder} has the backup of another database, of ${takenAt}: use another folder, or remove it.`);
}

/** Completes a backup: replaces the manifest, then removes the files that only earlier ones named. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await writeWhole(join(folder, MANIFEST), [JSON.stringify(manifest, null, 1)]);
  const kept = new Set([manifest.dump.file, manifest.keys?.file]);
  const own = (await readdir(folder)).filter((name) => OWN.test(name) && !kept.has(name));
  const digests = new Set(manifest.objects.map(({ sha256 }) => sha256));
  const objects = (await readdir(join(folder, OBJECTS))).filter((name) => OWN_OBJECT.test(name) && !digests.has(name));
  for (const name of own) await rm(join(folder, name));
  for (const name of objects) await rm(objectFile(folder, name));
}

/** Writes a file completely or not at all. @returns its digest @throws Error from `check`, which gets the digest first */
export async function writeWhole(
  file: string,
  body: Iterable<string> | AsyncIterable<Uint8Array>,
  check: (sha256: string) => void = () => undefined,
): Promise<string> {
  const part = `${file}.${randomUUID()}.part`;
  const hash = createHash('sha256');
  try {
    await writeFile(part, hashed(body), { mode: 0o600, flag: 'wx', flush: true });
    const sha256 = hash.digest('hex');
    check(sha256);
    await rename(part, file);
    return sha256;
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  async function* hashed(chunks: typeof body) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      yield chunk;
    }
  }
}

/** The digest of a body. */
export async function digestOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of body) hash.update(chunk);
  return hash.digest('hex');
}

export const digestOfFile = (file: string): Promise<string> => digestOf(createReadStream(file));

/** @throws Error with the files that are missing or damaged */
export async function verifyFiles(folder: string, { dump, keys, objects }: Manifest): Promise<void> {
  const digests = [...new Set(objects.map(({ sha256 }) => sha256))];
  const files = [dump, ...(keys ? [keys] : []), ...digests.map((sha256) => ({ file: join(OBJECTS, sha256), sha256 }))];
  const wrong: string[] = [];
  await each(files, async ({ file, sha256 }) => {
    const found = await digestOfFile(join(folder, file)).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return 'missing';
      throw error;
    });
    if (found !== sha256) wrong.push(`${file} is ${found === 'missing' ? 'missing' : 'damaged'}.`);
  });
  if (wrong.length > 0) throw new Error(`The backup cannot be used: ${wrong.join(' ')} Create it again.`);
}

/** Works on several at a time; after a failure it begins no other. */
export async function each<T>(list: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const rest = [...list].reverse();
  const worker = async (): Promise<void> => {
    for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
      await work(one).catch((error: unknown) => {
        rest.length = 0;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}
