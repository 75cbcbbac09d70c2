import { readdirSync } from 'node:fs';
import { applyMigration } from '../../src/adapters/database/applyMigration.js';
import { readMigrations } from '../../src/adapters/database/migrationFile.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import { copyDatabase, createEmptyDatabase, type TestDatabase } from './postgres.js';

/** The migrations of the repository, oldest first. */
export const migrationNames = readdirSync(new URL('../../prisma/migrations/', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();
const databases: TestDatabase[] = [];

/** A database that {@link dropDatabases} drops. */
export async function database(create: () => Promise<TestDatabase>): Promise<string> {
  const made = await create();
  databases.push(made);
  return made.url;
}

/** Makes databases that begin with what `fill` writes once, because migrations take far longer than a copy. */
export function filledDatabase(fill: (url: string) => Promise<unknown>): () => Promise<string> {
  let filled: Promise<TestDatabase> | undefined;
  const make = async (): Promise<TestDatabase> => {
    const made = await createEmptyDatabase();
    await fill(made.url);
    return made;
  };
  afterAll(async () => (await filled)?.drop());
  return async () => {
    const source = await (filled ??= make());
    return database(() => copyDatabase(source));
  };
}

/** A database with only these migrations. */
export async function databaseWith(applied: readonly string[]): Promise<string> {
  const url = await database(createEmptyDatabase);
  await applyMigrations(url, applied);
  return url;
}

/** Applies migrations, as the service does, and records them. */
export async function applyMigrations(url: string, names: readonly string[]): Promise<void> {
  const migrations = (await readMigrations()).filter(({ name }) => names.includes(name));
  await withClient({ connectionString: url }, async (client) => {
    for (const migration of migrations) await applyMigration(client, migration, 0);
  });
}

/** For `afterEach`. */
export async function dropDatabases(): Promise<void> {
  await Promise.all(databases.splice(0).map(({ drop }) => drop()));
}

/** The rows that a statement returns. */
export async function rowsOf(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const limits = { connectionTimeoutMillis: 5_000 };
  return withClient({ connectionString: url, ...limits }, async (client) => (await client.query(sql)).rows);
}
