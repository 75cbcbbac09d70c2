import { join } from 'node:path';
import type { ObjectStoreConfig } from '../../config.js';
import type { FileLinks } from './fileLinks.js';
import { openFileStore } from './fileStore.js';
import type { ObjectStore } from './objectStore.js';

interface ObjectStoreOptions {
  /** Absolute path of the folder for stored files, and files on their way to S3. */
  readonly dataDir: string;
  readonly store: ObjectStoreConfig;
  /** Links to the files of this service; commands create none. */
  readonly links?: FileLinks;
  /** Milliseconds per request to S3. */
  readonly timeout?: number;
}

/** Opens the configured store without contacting it. @throws Error for a wrong DATA_DIR or configuration */
export async function openObjectStore(options: ObjectStoreOptions): Promise<ObjectStore> {
  const { dataDir, links, store, ...limits } = options;
  if (store.kind === 's3') {
    // Import the S3 client only if it is used, because it is large.
    const { openS3Store } = await import('./s3Store.js');
    return openS3Store({ ...store, ...limits, spoolFolder: join(dataDir, 'spool') });
  }
  return openFileStore(join(dataDir, 'documents'), links);
}
