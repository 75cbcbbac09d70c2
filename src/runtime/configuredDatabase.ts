import { makeDataDir } from '../adapters/dataDir.js';
import { protectedUrl } from '../adapters/database/databaseUrl.js';

/** Where the configuration says that the database is. */
export interface DatabasePlace {
  /** null = the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | null;
  /** Where migrations connect to; null = `databaseUrl`. */
  readonly databaseOwnerUrl: string | null;
  readonly dataDir: string;
  /** The server owns the embedded PostgreSQL; a tool joins it, or starts it for the time of its work. */
  readonly role: 'server' | 'tool';
  readonly log: (message: string) => void;
}

export interface ServiceDatabase {
  /** For everything but migrations. */
  readonly url: string;
  /** For migrations; perhaps the same. */
  readonly ownerUrl: string;
  close(): Promise<void>;
}

/**
 * The database that the configuration names, whatever its schema.
 * @throws Error naming the variable whose address must not be connected to (see {@link protectedUrl})
 */
export async function configuredDatabase(place: DatabasePlace): Promise<ServiceDatabase> {
  const { databaseUrl, databaseOwnerUrl, ...embedded } = place;
  if (databaseUrl === null) {
    // A server with a database of its own never loads the embedded one.
    const { openEmbeddedPostgres } = await import('../embedded/embeddedPostgres.js');
    const { url, serviceUrl, close } = await openEmbeddedPostgres(embedded);
    return { url: serviceUrl, ownerUrl: url, close };
  }
  // A server keeps keys and files there in any case.
  if (embedded.role === 'server') await makeDataDir(embedded.dataDir);
  const url = protectedUrl('DATABASE_URL', databaseUrl);
  const ownerUrl = databaseOwnerUrl === null ? url : protectedUrl('DATABASE_OWNER_URL', databaseOwnerUrl);
  return { url, ownerUrl, close: async () => undefined };
}
