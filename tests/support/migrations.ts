import { applyMigration } from '../../src/adapters/database/applyMigration.js';
import { readMigrations, type Migration } from '../../src/adapters/database/migrationFile.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import { createTestDatabase, type TestDatabase } from './postgres.js';

/** The migrations of this build, oldest first. */
export const migrations = await readMigrations();
/** Synthetic migrations of a later build: one that locks nothing, then one for each way in which migrations run. */
export const nextMigrations = await readMigrations(new URL('nextMigrations/', import.meta.url));
/** All migrations of that build. */
export const nextBuild = [...migrations, ...nextMigrations];

const databases: TestDatabase[] = [];

export const namesOf = (some: readonly Migration[]): string[] => some.map(({ name }) => name);

/** A database that {@link dropDatabases} drops. */
export async function opened(create: () => Promise<TestDatabase>): Promise<TestDatabase> {
  const made = await create();
  databases.push(made);
  return made;
}

/** {@link opened}; returns the superuser's address of the database. */
export const database = async (create: () => Promise<TestDatabase>): Promise<string> => (await opened(create)).url;

/** A database with these migrations, applied as the service does, by default after those of this build. */
export async function databaseWith(applied: readonly Migration[], create = createTestDatabase): Promise<string> {
  const url = await database(create);
  await withClient({ connectionString: url }, async (client) => {
    for (const migration of applied) await applyMigration(client, migration, 0);
  });
  return url;
}

/** Drops the databases of {@link opened}, after each test or after all. */
export async function dropDatabases(): Promise<void> {
  await Promise.all(databases.splice(0).map(({ drop }) => drop()));
}

/** The rows that a statement returns. */
export async function rowsOf(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const limits = { connectionTimeoutMillis: 5_000 };
  return withClient({ connectionString: url, ...limits }, async (client) => (await client.query(sql)).rows);
}

export const tablesOf = async (url: string): Promise<unknown[]> =>
  (await rowsOf(url, `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`)).map(
    ({ relname }) => relname,
  );
