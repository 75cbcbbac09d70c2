import { mkdir } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { filesIn, incomingOf } from '../../adapters/objects/fileStore.js';
import type { StoredObjects } from '../../adapters/objects/objectStore.js';
import { readConfig } from '../../config.js';
import { reasonOf } from '../../failures.js';
import type { CliIo } from '../cliIo.js';

/** The files of a backup, in a folder or a bucket. Errors name the address. */
export interface BackupStore {
  readonly address: string;
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

/** Milliseconds for a request to S3; many, because a dump is large. */
const TIMEOUT_MS = 3_600_000;

/** Opens the folder or bucket of an address. @param create create the folder, readable for its owner only */
export async function openBackupStore(terminal: CliIo, address: string, create = false): Promise<BackupStore> {
  const bucket = address.startsWith('s3:') ? await openBucket(terminal, address) : undefined;
  const [objects, prefix] = bucket ?? [filesIn(resolve(address)), ''];
  const told = (cause: unknown): never => {
    throw new Error(`${address} cannot be used: ${reasonOf(cause)}`, { cause });
  };
  if (bucket) await objects.check().catch(told);
  else if (create) await mkdir(incomingOf(resolve(address)), { recursive: true, mode: 0o700 }).catch(told);

  return {
    address,
    screen: terminal.screen,

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
      await objects.put(prefix + file, hashed(), 'application/octet-stream').catch((error: unknown) => {
        if (failure) throw failure.error;
        told(error);
      });
      return sha256;
    },

    async *read(file) {
      try {
        yield* objects.read(prefix + file);
      } catch (error) {
        told(error);
      }
    },

    remove: (file) => objects.remove(prefix + file).catch(told),

    async list() {
      const files = new Set<string>();
      try {
        for await (const { key } of objects.list(prefix ? prefix.slice(0, -1) : undefined)) {
          files.add(key.slice(prefix.length));
        }
      } catch (error) {
        told(error);
      }
      return files;
    },

    removeUnfinished: (before) => objects.removeUnfinished(before).catch(told),
  };
}

/** Opens the bucket of `s3://bucket/prefix`. @returns the bucket and the prefix of its keys */
async function openBucket({ environment }: CliIo, address: string): Promise<[StoredObjects, string]> {
  const { dataDir, backupS3 } = readConfig(environment);
  const [, bucket, prefix] = /^s3:\/\/([a-z\d][a-z\d.-]{2,62})(?:\/(.*?))?\/*$/.exec(address) ?? [];
  if (bucket === undefined) throw new Error(`${address} must be s3://bucket or s3://bucket/prefix.`);
  const { region, endpoint, accessKey, secretKey } = backupS3;
  if (!endpoint || !accessKey || !secretKey) {
    throw new Error(`${address} needs BACKUP_S3_ENDPOINT, BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY.`);
  }
  // Import the S3 client only if it is used, because it is large.
  const { openS3Store } = await import('../../adapters/objects/s3Store.js');
  const names = { prefix: 'BACKUP_S3_', bucket: `the bucket ${bucket}` };
  const place = { spoolFolder: join(dataDir, 'spool'), timeout: TIMEOUT_MS, names };
  const store = await openS3Store({ endpoint, region, bucket, accessKey, secretKey, ...place });
  return [store, prefix ? `${prefix}/` : ''];
}
