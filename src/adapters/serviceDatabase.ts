import { isUnavailable } from './database.js';
import { makeDataDir } from './dataDir.js';
import { openEmbeddedPostgres } from './embeddedPostgres.js';
import { checkJobSchema, migrateJobSchema } from './jobSchema.js';
import { checkSchema, migrate, type SchemaState } from './migrations.js';

export interface ServiceDatabaseOptions {
  /** null = the embedded PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  /** The server owns the embedded PostgreSQL; a tool joins it, or starts it for the time of its work. */
  readonly role: 'server' | 'tool';
  /** Whether pending migrations are applied to `databaseUrl`; to the embedded database they always are. */
  readonly applyMigrations: boolean;
  readonly log: (message: string) => void;
}

export interface ServiceDatabase {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The database that the configuration names, with exactly the schema of this build.
 * @throws Error naming DATABASE_URL and what to do, or DATA_DIR
 */
export async function openServiceDatabase(options: ServiceDatabaseOptions): Promise<ServiceDatabase> {
  const { databaseUrl, dataDir, role, log } = options;
  if (databaseUrl === null) {
    const embedded = await openEmbeddedPostgres({ dataDir, role, log });
    try {
      await migrateDatabase(embedded.url);
      return embedded;
    } catch (error) {
      await embedded.close();
      throw error;
    }
  }
  // A server keeps keys and files there in any case.
  if (role === 'server') await makeDataDir(dataDir);
  const schema = await schemaOf(databaseUrl, options).catch((cause: unknown) => {
    const what = isUnavailable(cause) ? 'does not answer' : 'cannot be used';
    throw new Error(`DATABASE_URL ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  });
  if (schema.state === 'behind') {
    throw new Error(`DATABASE_URL lacks ${schema.pending.join(', ')}: run "make migrate", or start with --migrate.`);
  }
  if (schema.state === 'unknown') {
    throw new Error(`DATABASE_URL has migrations that this build does not know: ${schema.names.join(', ')}.`);
  }
  return { url: databaseUrl, close: async () => undefined };
}

/**
 * Brings everything in the database up to date: the service's schema, and the one of the job engine.
 * @returns the names applied by this call
 * @throws Error naming the migration when its script fails, or when a schema is unknown to this build
 */
export async function migrateDatabase(url: string, log: (message: string) => void = () => {}): Promise<string[]> {
  const applied = await migrate(url, log);
  const ofJobs = await migrateJobSchema(url);
  for (const name of ofJobs) log(`Applied the migrations of ${name}`);
  return [...applied, ...ofJobs];
}

async function schemaOf(url: string, { applyMigrations, log }: ServiceDatabaseOptions): Promise<SchemaState> {
  if (applyMigrations) await migrateDatabase(url, log);
  const ours = await checkSchema(url);
  return ours.state === 'current' ? checkJobSchema(url) : ours;
}
