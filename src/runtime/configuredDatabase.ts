import { makeDataDir } from '../adapters/dataDir.js';
import type { EmbeddedPostgresOptions } from '../embedded/embeddedPostgres.js';
import { protectedUrl } from '../adapters/database/databaseUrl.js';

export interface DatabasePlace extends Pick<EmbeddedPostgresOptions, 'dataDir' | 'role' | 'log' | 'lost'> {
  /** null = the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | null;
  /** Set if `databaseUrl` is a pooler in transaction mode: the address of the database itself. */
  readonly databaseDirectUrl: string | null;
  /** Address for migrations; null = they use the role of `databaseUrl`. */
  readonly databaseOwnerUrl: string | null;
}

export interface ServiceDatabase {
  /** For checks and commands, which need sessions; never that of a pooler in transaction mode. */
  readonly url: string;
  /** For requests, jobs and webhooks; may be the address of a pooler. */
  readonly requests: { readonly url: string; readonly isPooled: boolean };
  /** For migrations; may equal `url`. */
  readonly ownerUrl: string;
  close(): Promise<void>;
}

/** Opens the configured database without checking its schema. @throws Error that says what to do */
export async function configuredDatabase(place: DatabasePlace): Promise<ServiceDatabase> {
  const { databaseUrl, databaseDirectUrl, databaseOwnerUrl, ...embedded } = place;
  if (databaseUrl === null) {
    // Import it only here: servers with DATABASE_URL never need the embedded database.
    const { openEmbeddedPostgres } = await import('../embedded/embeddedPostgres.js');
    const { url, serviceUrl, close } = await openEmbeddedPostgres(embedded);
    return { url: serviceUrl, requests: { url: serviceUrl, isPooled: false }, ownerUrl: url, close };
  }
  // A server needs DATA_DIR even with an external database, for keys and files.
  if (embedded.role === 'server') await makeDataDir(embedded.dataDir);
  const requestUrl = protectedUrl('DATABASE_URL', databaseUrl);
  const isPooled = databaseDirectUrl !== null;
  const url = isPooled ? protectedUrl('DATABASE_DIRECT_URL', databaseDirectUrl) : requestUrl;
  const ownerUrl = databaseOwnerUrl === null ? url : protectedUrl('DATABASE_OWNER_URL', databaseOwnerUrl);
  return { url, requests: { url: requestUrl, isPooled }, ownerUrl, close: async () => undefined };
}
