import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { Problem } from '../../problem.js';
import type { FileLinks } from './fileLinks.js';
import type { ObjectStore } from './objectStore.js';
import { filesBelow, removeFilesOlderThan } from './fileSweep.js';

interface FileStoreOptions {
  /** Absolute folder of the objects; made when missing. */
  readonly folder: string;
  readonly links: FileLinks;
  /** The service's public address without a final slash, asked for when a link is made. */
  readonly baseUrl: () => string;
}

/** Objects as files. One appears whole or not at all: synced under another name, renamed, and its folders synced. */
export async function openFileStore({ folder, links, baseUrl }: FileStoreOptions): Promise<ObjectStore> {
  // A key never starts with a dot, so no object can lie in here.
  const incoming = join(folder, '.incoming');
  await mkdir(incoming, { recursive: true, mode: 0o700 });

  return {
    provider: 'file',
    container: 'documents',

    async put(key, body) {
      const target = pathOf(folder, key);
      let written = join(incoming, randomUUID());
      try {
        await writeFile(written, body, { mode: 0o600, flag: 'wx', flush: true });
        await makeFolder(dirname(target));
        await rename(written, target);
        written = target;
        await syncFolder(dirname(target));
      } catch (error) {
        // On a disk that fails this may fail too; the first error is the one to tell.
        await rm(written, { force: true }).catch(() => undefined);
        unavailable(error);
      }
    },

    async *read(key) {
      const file = await open(pathOf(folder, key)).catch(unavailable);
      yield* file.createReadStream();
    },

    async remove(key) {
      // The folder stays: it is the patient's, and a concurrent upload may be between making it and moving its file there.
      await rm(pathOf(folder, key), { force: true }).catch(unavailable);
    },

    async *list() {
      try {
        for await (const { path, modifiedAt } of filesBelow(folder)) {
          yield { key: relative(folder, path).replaceAll(sep, '/'), modifiedAt };
        }
      } catch (error) {
        unavailable(error);
      }
    },

    removeUnfinished: (before) => removeFilesOlderThan(incoming, before).catch(unavailable),

    async link(key, _object, now, seconds) {
      const content = { key, expiresAt: now.getTime() + seconds * 1000 };
      return `${baseUrl()}/files/${links.sign(content)}`;
    },

    check: () => access(incoming, constants.R_OK | constants.W_OK | constants.X_OK).catch(unavailable),

    openLink(text, now) {
      const content = links.open(text, now);
      return content && { key: content.key, path: pathOf(folder, content.key) };
    },
  };
}

/** Not empty, not hidden, no `..`, nothing that ends or parts a path on any system. */
const segmentPattern = /^[^.\\\p{Cc}][^\\\p{Cc}]*$/u;

/**
 * The file of a key: always below the folder, for every key.
 * @throws Error when the key has an empty, hidden or overlong segment, or a character that leads elsewhere
 */
function pathOf(folder: string, key: string): string {
  const segments = key.split('/');
  const safe = segments.every((segment) => segmentPattern.test(segment) && Buffer.byteLength(segment) <= 255);
  const path = resolve(folder, ...segments);
  if (!safe || !path.startsWith(folder + sep)) throw new Error('The key of an object is not valid');
  return path;
}

/** Makes a folder with its parents so that all of them survive a power cut. */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The body's own reason passes; everything else is the disk's. */
function unavailable(error: unknown): never {
  throw error instanceof Problem ? error : new Problem('dependency_unavailable', undefined, { cause: error });
}
