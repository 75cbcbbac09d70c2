import { randomUUID } from 'node:crypto';
import { isLaidOut, placeTables, SCHEMA_CHANGES } from '../citus/layout.js';
import { kindOf, statementsOf, wholeStatementsOf, type Migration } from './migrationFile.js';
import type { Connection } from './withClient.js';

/** Applies and records a migration; can be repeated after a failure. @param timeoutMs lock timeout, not for indexes */
export async function applyMigration(client: Connection, migration: Migration, timeoutMs: number): Promise<void> {
  const { sql } = migration;
  const kind = kindOf(sql);
  if (kind === 'transaction') return inOneTransaction(client, migration, timeoutMs);
  // No request waits behind a concurrent change of an index, so it may wait for older transactions without limit.
  await client.query(`SET TIME ZONE 'UTC'; SET lock_timeout = ${kind === 'indexes' ? 0 : timeoutMs}`);
  if (kind === 'indexes') await changeIndexes(client, sql);
  else while ((await client.query(sql)).rowCount !== 0);
  await record(client, migration);
}

async function inOneTransaction(client: Connection, migration: Migration, timeoutMs: number): Promise<void> {
  try {
    await client.query(
      `BEGIN; SET LOCAL TIME ZONE 'UTC'; SET LOCAL lock_timeout = ${timeoutMs}; ${RECORDS}; ${SCHEMA_CHANGES}`,
    );
    // Citus adds no constraint in a query of several statements.
    for (const statement of wholeStatementsOf(migration.sql)) await client.query(statement);
    if (await isLaidOut(client)) await placeTables(client);
    await record(client, migration);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Changes indexes concurrently. An interrupted attempt leaves invalid indexes, which are removed first. */
async function changeIndexes(client: Connection, sql: string): Promise<void> {
  const { rows: invalid } = await client.query<{ name: string }>(
    `SELECT format('%I', relname) AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
      WHERE relnamespace = 'public'::regnamespace AND NOT indisvalid AND position(format('"%s"', relname) IN $1) > 0`,
    [sql],
  );
  for (const { name } of invalid) await client.query(`DROP INDEX CONCURRENTLY ${name}`);
  for (const statement of statementsOf(sql)) await client.query(statement);
}

/** The table of applied migrations, defined as Prisma does, so that both can use it. */
const RECORDS = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`;

async function record(client: Connection, { name, checksum }: Migration): Promise<void> {
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
        VALUES ($1, $2, clock_timestamp(), $3, 1)`,
    [randomUUID(), checksum, name],
  );
}
