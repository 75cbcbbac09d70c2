import { isUnavailable, sqlState } from '../adapters/database/database.js';
import { protectedUrl } from '../adapters/database/databaseUrl.js';
import { grantServiceRights } from '../adapters/database/serviceRole.js';
import { makeDataDir } from '../adapters/dataDir.js';
import { checkJobSchema, migrateJobSchema } from '../adapters/jobs/jobSchema.js';
import { checkSchema, migrate } from '../adapters/database/migrations.js';

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

export interface ServiceDatabaseOptions extends DatabasePlace {
  /** Whether pending migrations are applied to `databaseUrl`; to the embedded database they always are. */
  readonly applyMigrations: boolean;
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

/**
 * The database that the configuration names, with exactly the schema of this build.
 * @throws Error naming DATABASE_URL and what to do, or DATA_DIR
 */
export async function openServiceDatabase(options: ServiceDatabaseOptions): Promise<ServiceDatabase> {
  const { databaseUrl, applyMigrations, log } = options;
  const database = await configuredDatabase(options);
  try {
    if (databaseUrl === null) await migrateDatabase(database);
    else await requireSchema(database, applyMigrations, log);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Brings everything in the database up to date: the service's schema, the one of the job engine, and the rights of the
 * service's role.
 * @returns the names applied by this call
 * @throws Error naming the migration when its script fails, or when a schema is unknown to this build
 */
export async function migrateDatabase(
  { ownerUrl, url }: Pick<ServiceDatabase, 'ownerUrl' | 'url'>,
  log: (message: string) => void = () => {},
): Promise<string[]> {
  const applied = await migrate(ownerUrl, log);
  const ofJobs = await migrateJobSchema(ownerUrl);
  await grantServiceRights(ownerUrl, url);
  for (const name of ofJobs) log(`Applied the migrations of ${name}`);
  return [...applied, ...ofJobs];
}

/**
 * What {@link migrateDatabase} would apply; nothing is changed.
 * @throws Error naming the migrations that this build does not know
 */
export async function pendingMigrations(url: string): Promise<string[]> {
  const states = [await checkSchema(url), await checkJobSchema(url)];
  const unknown = states.flatMap((schema) => (schema.state === 'unknown' ? schema.names : []));
  if (unknown.length > 0) {
    throw new Error(`The database has migrations that this build does not know: ${unknown.join(', ')}.`);
  }
  return states.flatMap((schema) => (schema.state === 'behind' ? schema.pending : []));
}

const GRANT_ADVICE =
  'Run "npm run --silent cli -- migrate" with DATABASE_OWNER_URL, which grants its role what it needs.';

async function requireSchema(database: ServiceDatabase, apply: boolean, log: (message: string) => void): Promise<void> {
  const pending = await (apply ? migrateDatabase(database, log) : Promise.resolve([]))
    .then(() => pendingMigrations(database.url))
    .catch((cause: unknown) => {
      const what = isUnavailable(cause) ? 'does not answer' : 'cannot be used';
      // SQLSTATE 42501: insufficient privilege.
      const advice = sqlState(cause) === '42501' ? `. ${GRANT_ADVICE}` : '';
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`DATABASE_URL ${what}: ${reason}${advice}`, { cause });
    });
  if (pending.length === 0) return;
  const advice = 'run "npm run --silent cli -- migrate", or start the server with --migrate';
  throw new Error(`DATABASE_URL lacks ${pending.join(', ')}: ${advice}.`);
}
