import { isUnavailable, sqlState } from '../adapters/database/databaseErrors.js';
import { grantServiceRights } from '../adapters/database/serviceRole.js';
import { checkJobSchema, migrateJobSchema } from '../adapters/jobs/jobSchema.js';
import { checkSchema, migrate } from '../adapters/database/migrations.js';
import { messageOf } from '../failures.js';
import { configuredDatabase, type DatabasePlace, type ServiceDatabase } from './configuredDatabase.js';

interface ServiceDatabaseOptions extends DatabasePlace {
  /** Whether pending migrations are applied to `databaseUrl`; to the embedded database they always are. */
  readonly applyMigrations: boolean;
}

/** The configured database with exactly the schema of this build. @throws Error as {@link withSchema} */
export async function openServiceDatabase(options: ServiceDatabaseOptions): Promise<ServiceDatabase> {
  return withSchema(await configuredDatabase(options), options);
}

/**
 * Brings the schema of an opened database to that of this build, or checks it; closes the database when that fails.
 * @throws Error naming DATABASE_URL and what to do, or DATA_DIR
 */
export async function withSchema(
  database: ServiceDatabase,
  { databaseUrl, applyMigrations, log }: Pick<ServiceDatabaseOptions, 'databaseUrl' | 'applyMigrations' | 'log'>,
): Promise<ServiceDatabase> {
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
 * Brings all in the database up to date: schemas of the service and of the job engine, rights of the service's role.
 * @param log is told what a migration waits for
 * @returns the names applied by this call
 * @throws Error naming the migration when its script fails or gets no lock, or when a schema is unknown to this build
 */
export async function migrateDatabase(
  { ownerUrl, url }: Pick<ServiceDatabase, 'ownerUrl' | 'url'>,
  log: (message: string) => void = () => {},
): Promise<string[]> {
  // A later build knows what else its tables need, and who may change them.
  if ((await checkSchema(ownerUrl)).state === 'newer') return [];
  const applied = await migrate(ownerUrl, log);
  const ofJobs = await migrateJobSchema(ownerUrl);
  await grantServiceRights(ownerUrl, url);
  return [...applied, ...ofJobs];
}

/**
 * What {@link migrateDatabase} would apply.
 * @param log is told when the schema is that of a later build
 * @throws Error naming the migrations that this build does not know, when it does not work on their schema
 */
export async function pendingMigrations(url: string, log: (message: string) => void): Promise<string[]> {
  const states = [await checkSchema(url), await checkJobSchema(url)];
  const unknown = states.flatMap((schema) => (schema.state === 'unknown' ? schema.reason : []));
  if (unknown.length > 0) throw new Error(unknown.join(' '));
  for (const schema of states) {
    if (schema.state !== 'newer') continue;
    log(`The database is newer than this build, which still works on it: it has ${schema.names.join(', ')}.`);
  }
  return states.flatMap((schema) => (schema.state === 'behind' ? schema.pending : []));
}

const MIGRATE = '"npm run --silent cli -- migrate"';

async function requireSchema(database: ServiceDatabase, apply: boolean, log: (message: string) => void): Promise<void> {
  const pending = await (apply ? migrateDatabase(database, log) : Promise.resolve([]))
    .then((applied) => applied.forEach((name) => log(`Applied migration ${name}`)))
    .then(() => pendingMigrations(database.url, log))
    .catch((cause: unknown) => {
      const what = isUnavailable(cause) ? 'does not answer' : 'cannot be used';
      // SQLSTATE 42501: insufficient privilege.
      const grant = `. Run ${MIGRATE} with DATABASE_OWNER_URL, which grants its role what it needs.`;
      const advice = sqlState(cause) === '42501' ? grant : '';
      throw new Error(`DATABASE_URL ${what}: ${messageOf(cause)}${advice}`, { cause });
    });
  if (pending.length === 0) return;
  throw new Error(`DATABASE_URL lacks ${pending.join(', ')}: run ${MIGRATE}, or start the server with --migrate.`);
}
