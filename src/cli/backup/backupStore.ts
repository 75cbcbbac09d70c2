import { mkdir } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { filesIn, incomingOf } from '../../adapters/objects/fileStore.js';
import { reasonOf } from '../../failures.js';
import type { CliIo } from '../cliIo.js';

/** The files of a backup in a folder. Errors name the folder, except those that `write` passes on. */
export interface BackupStore {
  readonly folder: string;
  /** The terminal for the progress of work on its files. */
  readonly screen: CliIo['screen'];
  /** Writes a file completely or not at all. @returns its digest @throws errors of the body and of `check` unchanged */
  write(file: string, body: AsyncIterable<Uint8Array>, check?: (sha256: string) => void): Promise<string>;
  read(file: string): AsyncIterable<Uint8Array>;
  remove(file: string): Promise<void>;
  /** The names of all files. */
  list(): Promise<ReadonlySet<string>>;
  /** Removes the remains of interrupted backups begun before the given time. */
  removeUnfinished(before: Date): Promise<unknown>;
}

/** Opens a backup's folder. @param create make it, for its owner only @throws Error for a URL, or if making it fails */
export async function openBackupStore({ screen }: CliIo, folder: string, create = false): Promise<BackupStore> {
  if (folder.includes('://'))
    throw new Error(`${folder} is a URL. Give a folder, and copy the folder to or from the URL by other means.`);
  const objects = filesIn(resolve(folder));
  const told = (cause: unknown): never => {
    throw new Error(
      `${folder} cannot be used: ${reasonOf(cause)}. Correct its path, permissions, free space or disk.`,
      {
        cause,
      },
    );
  };
  if (create) await mkdir(incomingOf(resolve(folder)), { recursive: true, mode: 0o700 }).catch(told);

  return {
    folder,
    screen,

    async write(file, body, check) {
      const hash = createHash('sha256');
      let failure: { readonly error: unknown } | undefined;
      let sha256 = '';
      async function* hashed() {
        try {
          for await (const chunk of body) {
            hash.update(chunk);
            yield chunk;
          }
          sha256 = hash.digest('hex');
          check?.(sha256);
        } catch (error) {
          failure = { error };
          throw error;
        }
      }
      await objects.put(file, hashed(), 'application/octet-stream').catch((error: unknown) => {
        if (failure) throw failure.error;
        told(error);
      });
      return sha256;
    },

    async *read(file) {
      try {
        yield* objects.read(file);
      } catch (error) {
        told(error);
      }
    },

    remove: (file) => objects.remove(file).catch(told),

    async list() {
      const files = new Set<string>();
      try {
        for await (const { key } of objects.list()) files.add(key);
      } catch (error) {
        told(error);
      }
      return files;
    },

    removeUnfinished: (before) => objects.removeUnfinished(before).catch(told),
  };
}
