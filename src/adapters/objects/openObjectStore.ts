import { join } from 'node:path';
import type { ObjectStoreConfig } from '../../config.js';
import { createFileLinks, loadLinkSecret } from './fileLinks.js';
import { openFileStore } from './fileStore.js';
import type { ObjectStore } from './objectStore.js';

interface ObjectStoreOptions {
  /** Absolute path of the folder for stored files, the secret of links, and files on their way to S3. */
  readonly dataDir: string;
  /** The service's public address without a final slash; read for each link. */
  readonly baseUrl: () => string;
  readonly store: ObjectStoreConfig;
  /** Milliseconds per request to S3. */
  readonly timeout?: number;
}

/** The file with the secret that signs links to files of this service. */
export const linkSecretFile = (dataDir: string): string => join(dataDir, 'file-link.key');

/** Opens the configured store without contacting it. @throws Error for a wrong DATA_DIR or configuration */
export async function openObjectStore(options: ObjectStoreOptions): Promise<ObjectStore> {
  const { dataDir, baseUrl, store, ...limits } = options;
  if (store.kind === 's3') {
    // Import the S3 client only if it is used, because it is large.
    const { openS3Store } = await import('./s3Store.js');
    return openS3Store({ ...store, ...limits, spoolFolder: join(dataDir, 'spool') });
  }
  const links = createFileLinks(await loadLinkSecret(linkSecretFile(dataDir)));
  return openFileStore({ folder: join(dataDir, 'documents'), links, baseUrl });
}
