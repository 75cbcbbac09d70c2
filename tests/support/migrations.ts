import { readdirSync } from 'node:fs';
import { Client } from 'pg';
import type { TestDatabase } from './postgres.js';

/** The migrations of the repository, oldest first. */
export const migrationNames = readdirSync(new URL('../../prisma/migrations/', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();
const databases: TestDatabase[] = [];

/** A database that goes with the test. */
export async function database(create: () => Promise<TestDatabase>): Promise<string> {
  const made = await create();
  databases.push(made);
  return made.url;
}

/** For `afterEach`. */
export async function dropDatabases(): Promise<void> {
  await Promise.all(databases.splice(0).map(({ drop }) => drop()));
}

/** What a statement returns. */
export async function rowsOf(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
