import { join } from 'node:path';
import type { ObjectStoreConfig } from '../../config.js';
import { createFileLinks, loadLinkSecret } from './fileLinks.js';
import { openFileStore } from './fileStore.js';
import type { ObjectStore } from './objectStore.js';

interface ObjectStoreOptions {
  /** Absolute folder; files, the link secret and files on their way to S3 lie in it. */
  readonly dataDir: string;
  /** The service's public address without a final slash, asked for when a link is made. */
  readonly baseUrl: () => string;
  readonly store: ObjectStoreConfig;
}

/**
 * Opens the store that the configuration names; `check` says whether it works.
 * @throws Error when DATA_DIR can't be used or the configuration can't be right
 */
export async function openObjectStore(options: ObjectStoreOptions): Promise<ObjectStore> {
  const { dataDir, baseUrl, store } = options;
  if (store.kind === 's3') {
    // Its client is large, and most servers never need it.
    const { openS3Store } = await import('./s3Store.js');
    return openS3Store({ ...store, spoolFolder: join(dataDir, 'spool') });
  }
  const links = createFileLinks(await loadLinkSecret(join(dataDir, 'file-link.key')));
  return openFileStore({ folder: join(dataDir, 'documents'), links, baseUrl });
}
