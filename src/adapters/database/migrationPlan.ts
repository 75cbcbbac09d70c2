import { kindOf, locksOf, readMigrations, type Migration, type StatedLock } from './migrationFile.js';
import { withClient } from './withClient.js';

/** A pending migration: how it runs, and which locks it takes. */
export interface PlannedMigration {
  readonly migration: string;
  readonly runs: string;
  /** `rows`: PostgreSQL's estimate, null before its first ANALYZE. */
  readonly locks: readonly (StatedLock & { readonly rows: number | null })[];
}

const RUNS = { transaction: 'in a transaction', indexes: 'beside requests', batches: 'in batches' } as const;

/** Describes pending migrations in their order. @param build other migrations than those of this build, in tests */
export async function planMigrations(
  url: string,
  pending: readonly string[],
  build?: readonly Migration[],
): Promise<PlannedMigration[]> {
  const migrations = build ?? (await readMigrations());
  return withClient({ connectionString: url, connectionTimeoutMillis: 5_000 }, async (client) => {
    const { rows } = await client.query<{ name: string; rows: number | null }>(
      `SELECT relname AS name, nullif(reltuples, -1)::float8 AS rows FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`,
    );
    // A missing table counts as empty: an earlier migration of the same plan creates it.
    const countOf = new Map(rows.map(({ name, rows: count }) => [name, count]));
    const withRows = (lock: StatedLock) => ({
      ...lock,
      rows: countOf.get(lock.table) ?? (countOf.has(lock.table) ? null : 0),
    });
    const planned = migrations.filter(({ name }) => pending.includes(name));
    return planned.map(({ name, sql }) => {
      const stated = locksOf(sql);
      const runs = [RUNS[kindOf(sql)], ...(stated?.reads?.startsWith('reads') ? [stated.reads] : [])].join(', ');
      return { migration: name, runs, locks: stated?.locks.map(withRows) ?? [] };
    });
  });
}
