import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { Problem } from '../../problem.js';
import { makeFolderOfDataDir } from '../dataDir.js';
import type { FileLinks } from './fileLinks.js';
import type { ObjectStore, StoredObjects } from './objectStore.js';
import { filesBelow, removeFilesOlderThan } from './fileSweep.js';

/** The subfolder for unfinished files. No object can be in it, because keys never start with a dot. */
export const incomingOf = (folder: string): string => join(folder, '.incoming');

/**
 * Opens the object store that keeps objects as files.
 * @param folder absolute path; it is created if missing
 */
export async function openFileStore(folder: string, links: FileLinks | undefined): Promise<ObjectStore> {
  await makeFolderOfDataDir(incomingOf(folder));
  return {
    provider: 'file',
    container: 'documents',
    ...filesIn(folder),

    async link(key, _object, now, seconds) {
      if (!links) throw new Error('Only a server creates links: give openObjectStore the option links');
      return links.sign(key, new Date(now.getTime() + seconds * 1000));
    },
    async openLink(text, now) {
      const key = await links?.open(text, now);
      return key === undefined ? undefined : { key, path: pathOf(folder, key) };
    },
  };
}

/** Files, written completely or not at all: written under another name, synced and renamed; then folders are synced. */
export function filesIn(folder: string): StoredObjects {
  const incoming = incomingOf(folder);
  return {
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
        // The removal may fail, too, on a failing disk; report the first error.
        await rm(written, { force: true }).catch(() => undefined);
        unavailable(error);
      }
    },

    async *read(key) {
      const path = pathOf(folder, key);
      try {
        yield* (await open(path)).createReadStream();
      } catch (error) {
        unavailable(error);
      }
    },

    async remove(key) {
      // Keep the folder: a concurrent upload for this patient may be about to move its file there.
      await rm(pathOf(folder, key), { force: true }).catch(unavailable);
    },

    async *list(below = '') {
      try {
        for await (const { path, modifiedAt } of filesBelow(join(folder, below))) {
          yield { key: relative(folder, path).replaceAll(sep, '/'), modifiedAt };
        }
      } catch (error) {
        unavailable(error);
      }
    },

    removeUnfinished: (before) => removeFilesOlderThan(incoming, before).catch(unavailable),

    check: () => access(incoming, constants.R_OK | constants.W_OK | constants.X_OK).catch(unavailable),
  };
}

/** Valid part of a key: not empty, not hidden, no `..`, and no path separator of any operating system. */
const segmentPattern = /^[^.\\\p{Cc}][^\\\p{Cc}]*$/u;

/** The path of a key's file, always below the folder. @throws Error if the key is not valid */
function pathOf(folder: string, key: string): string {
  const segments = key.split('/');
  const safe = segments.every((segment) => segmentPattern.test(segment) && Buffer.byteLength(segment) <= 255);
  const path = resolve(folder, ...segments);
  if (!safe || !path.startsWith(folder + sep))
    throw new Error('The key of an object is not valid: restore the row of a document, or the backup, that names it');
  return path;
}

/** Creates a folder and its parents, and syncs them so that they survive a power failure. */
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

/** Rethrows a Problem, which comes from the body; reports other errors, which come from the disk, as unavailable. */
function unavailable(error: unknown): never {
  throw error instanceof Problem ? error : new Problem('dependency_unavailable', undefined, { cause: error });
}
