import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { Client } from 'pg';
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
  await applyFirst(url, applied);
  return url;
}

/** Applies migrations to a database without tables. */
export async function applyFirst(url: string, names: readonly string[]): Promise<void> {
  await rowsOf(
    url,
    `
    CREATE TABLE _prisma_migrations (id VARCHAR(36) PRIMARY KEY, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ,
      migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMPTZ,
      started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`,
  );
  await applyMigrations(url, names);
}

/** Applies migrations, as the service does, and records them. */
export async function applyMigrations(url: string, names: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const name of names) {
    const sql = readFileSync(new URL(`../../prisma/migrations/${name}/migration.sql`, import.meta.url), 'utf8');
    await client.query(sql);
    const checksum = createHash('sha256').update(sql).digest('hex');
    const values = `gen_random_uuid(), '${checksum}', now(), '${name}'`;
    await client.query(`INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name) VALUES (${values})`);
  }
  await client.end();
}

/** For `afterEach`. */
export async function dropDatabases(): Promise<void> {
  await Promise.all(databases.splice(0).map(({ drop }) => drop()));
}

/** The rows that a statement returns. */
export async function rowsOf(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
