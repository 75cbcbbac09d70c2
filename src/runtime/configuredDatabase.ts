import { makeDataDir } from '../adapters/dataDir.js';
import type { EmbeddedPostgresOptions } from '../embedded/embeddedPostgres.js';
import { protectedUrl } from '../adapters/database/databaseUrl.js';

export interface DatabasePlace extends Pick<EmbeddedPostgresOptions, 'dataDir' | 'role' | 'log'> {
  /** null = the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | null;
  /** For migrations; null = `databaseUrl`. */
  readonly databaseOwnerUrl: string | null;
}

export interface ServiceDatabase {
  /** For everything except migrations. */
  readonly url: string;
  /** For migrations; may equal `url`. */
  readonly ownerUrl: string;
  close(): Promise<void>;
}

/** Opens the configured database, with any schema. @throws Error as {@link protectedUrl} */
export async function configuredDatabase(place: DatabasePlace): Promise<ServiceDatabase> {
  const { databaseUrl, databaseOwnerUrl, ...embedded } = place;
  if (databaseUrl === null) {
    // Servers with DATABASE_URL never load the embedded database.
    const { openEmbeddedPostgres } = await import('../embedded/embeddedPostgres.js');
    const { url, serviceUrl, close } = await openEmbeddedPostgres(embedded);
    return { url: serviceUrl, ownerUrl: url, close };
  }
  // Servers also store keys and files there.
  if (embedded.role === 'server') await makeDataDir(embedded.dataDir);
  const url = protectedUrl('DATABASE_URL', databaseUrl);
  const ownerUrl = databaseOwnerUrl === null ? url : protectedUrl('DATABASE_OWNER_URL', databaseOwnerUrl);
  return { url, ownerUrl, close: async () => undefined };
}
