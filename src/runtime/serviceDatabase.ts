import { isUnavailable, sqlState } from '../adapters/database/databaseErrors.js';
import { grantServiceRights } from '../adapters/database/serviceRole.js';
import { checkSchema, migrate } from '../adapters/database/migrations.js';
import { lastLine, messageOf } from '../failures.js';
import { configuredDatabase, type DatabasePlace, type ServiceDatabase } from './configuredDatabase.js';

interface ServiceDatabaseOptions extends DatabasePlace {
  /** Whether to apply pending migrations to `databaseUrl`; the embedded database always gets them. */
  readonly applyMigrations: boolean;
}

/** Opens the configured database with a schema that this build supports. @throws Error with the reason */
export async function openServiceDatabase(options: ServiceDatabaseOptions): Promise<ServiceDatabase> {
  return withSchema(await configuredDatabase(options), options);
}

/** Migrates or checks the schema; closes the database on failure. @throws Error with the reason */
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
 * Migrates the tables, and grants the rights of the service's role.
 * @param log receives messages while a migration waits for locks
 * @returns the applied migrations. @throws Error naming a migration that fails or is unknown, or the driver's
 */
export async function migrateDatabase(
  { ownerUrl, url }: Pick<ServiceDatabase, 'ownerUrl' | 'url'>,
  log: (message: string) => void = () => {},
): Promise<string[]> {
  // Leave a newer database alone: a later build has already granted the rights.
  if ((await checkSchema(ownerUrl)).state === 'newer') return [];
  const applied = await migrate(ownerUrl, log);
  await grantServiceRights(ownerUrl, url);
  return applied;
}

/**
 * The migrations that {@link migrateDatabase} would apply. If the database is newer but supported, only logs that.
 * @throws Error with the reason why this build cannot use the schema, or the driver's
 */
export async function pendingMigrations(url: string, log: (message: string) => void): Promise<string[]> {
  const schema = await checkSchema(url);
  if (schema.state === 'unknown') throw new Error(schema.reason);
  if (schema.state === 'newer') {
    log(
      `The database is newer than this build, which still supports it. Later migrations: ${schema.names.join(', ')}.`,
    );
  }
  return schema.state === 'behind' ? schema.pending : [];
}

const MIGRATE = '"scripts/ces migrate"';

async function requireSchema(database: ServiceDatabase, apply: boolean, log: (message: string) => void): Promise<void> {
  const variable = database.requests.isPooled ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL';
  const pending = await (apply ? migrateDatabase(database, log) : Promise.resolve([]))
    .then((applied) => applied.forEach((name) => log(`Applied migration ${name}`)))
    .then(() => pendingMigrations(database.url, log))
    .catch((cause: unknown) => {
      const hasOwner = apply && database.ownerUrl !== database.url;
      if (isUnavailable(cause)) {
        const owner = hasOwner ? ' or DATABASE_OWNER_URL' : '';
        const advice = `Start PostgreSQL, free its resources or locks, or correct ${variable}${owner}.`;
        throw new Error(`The database cannot be used now: ${lastLine(cause)}. ${advice}`, { cause });
      }
      // SQLSTATE 42501 means insufficient privilege.
      const grant = hasOwner
        ? `. The role of DATABASE_OWNER_URL must own the schema and all tables, that of ${variable} needs the use of them, and both need CONNECT.`
        : `. Run ${MIGRATE} with DATABASE_OWNER_URL; if the error remains, grant the role of ${variable} what it lacks.`;
      const reason = messageOf(cause);
      // Own texts, which have advice, end with a period; a driver's texts do not.
      const usual = reason.endsWith('.') ? '' : '. See "scripts/ces doctor".';
      const advice = sqlState(cause) === '42501' ? grant : usual;
      throw new Error(`The database cannot be used: ${reason}${advice}`, { cause });
    });
  if (pending.length === 0) return;
  const remedy = apply
    ? `${variable} and, if set, DATABASE_OWNER_URL must lead to the same database.`
    : `Run ${MIGRATE}, or start the server with --migrate. ${variable} and, if set, DATABASE_OWNER_URL must lead to the service's database.`;
  throw new Error(`The database at ${variable} lacks the migrations ${pending.join(', ')}. ${remedy}`);
}
