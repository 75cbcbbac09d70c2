import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { messageOf } from '../../failures.js';
import { applyMigration } from './applyMigration.js';
import { sqlState } from './databaseErrors.js';
import { LOCK_PATIENCE, REPEAT, withLockRetries } from './lockRetries.js';
import { readMigrations, type Migration } from './migrationFile.js';
import { rowsOf, withClient } from './withClient.js';

/**
 * The generation of this build, which runs on schemas whose `oldest_generation()` is not higher. Increase it when the
 * code stops using something that a later migration will remove.
 */
export const GENERATION = 1;

interface RecordedMigration {
  readonly name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

/** The schema of the database compared with this build. Servers run only on `current` and `newer`. */
export type SchemaState =
  | { readonly state: 'current' }
  /** `pending`: migrations to apply. */
  | { readonly state: 'behind'; readonly pending: string[] }
  /** `names`: applied migrations of a later build, whose schema still supports servers of this generation. */
  | { readonly state: 'newer'; readonly names: string[] }
  /** `reason`: recorded migrations that this build lacks or that did not finish, or files that changed afterwards. */
  | { readonly state: 'unknown'; readonly reason: string };

/**
 * Compares `_prisma_migrations` with the migrations of this build. @param build other migrations, in tests
 * @throws the driver's error, including one after 5 s without a response
 */
export async function checkSchema(url: string, build?: readonly Migration[]): Promise<SchemaState> {
  const known = build ?? (await readMigrations());
  const recorded = await rowsOf<RecordedMigration>(
    url,
    '_prisma_migrations',
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
        FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name`,
  );
  const isKnown = (name: string): boolean => known.some((migration) => migration.name === name);
  const strange = recorded.filter(
    ({ name, checksum, finished }) => !finished || !known.some((one) => one.name === name && one.checksum === checksum),
  );
  const pending = known.map(({ name }) => name).filter((name) => !recorded.some((row) => row.name === name));
  if (strange.length === 0) return pending.length > 0 ? { state: 'behind', pending } : { state: 'current' };
  const names = strange.map(({ name }) => name);
  const reason = reasonsOf(strange, isKnown).join(' ');
  const isNewer = pending.length === 0 && strange.every(({ name, finished }) => finished && !isKnown(name));
  if (!isNewer) return { state: 'unknown', reason };
  const query = 'SELECT oldest_generation() AS oldest';
  const [{ oldest } = { oldest: Infinity }] = await rowsOf<{ oldest: number }>(url, 'oldest_generation', query);
  if (oldest <= GENERATION) return { state: 'newer', names };
  const needs =
    oldest === Infinity
      ? 'Its schema lacks the function oldest_generation(), which admits older builds.'
      : `Its schema needs servers of generation ${oldest} or later, and this build is of generation ${GENERATION}.`;
  return { state: 'unknown', reason: `${reason} ${needs}` };
}

/** States what is wrong with recorded migrations, and what to do. */
function reasonsOf(strange: readonly RecordedMigration[], isKnown: (name: string) => boolean): string[] {
  const unfinished = strange.filter(({ finished }) => !finished);
  const changed = strange.filter(({ name, finished }) => finished && isKnown(name));
  const unknown = strange.filter(({ name, finished }) => finished && !isKnown(name));
  const groups = [
    [unfinished, 'has unfinished migrations', 'Wait, or finish them with the program that started them'],
    [changed, 'has migrations whose files were changed since they were applied', 'Deploy the build that applied them'],
    [
      unknown,
      'has migrations that this build does not know',
      'Deploy the build that has them, or correct the DATABASE_… variables if the database is of another program',
    ],
  ] as const;
  return groups.flatMap(([of, state, advice]) =>
    of.length > 0 ? `The database ${state}: ${of.map(({ name }) => name).join(', ')}. ${advice}.` : [],
  );
}

/**
 * Applies and records the pending migrations. Table, checksums and lock are those of Prisma, so several processes may
 * run this at the same time. @param log receives a message while a migration waits for locks @param build in tests
 * @returns the applied ones. @throws Error naming the migration that fails or gets no lock (earlier ones stay applied),
 * for an `unknown` schema, or for tables of another program
 */
export async function migrate(
  url: string,
  log: (message: string) => void = () => {},
  patience = LOCK_PATIENCE,
  build?: readonly Migration[],
): Promise<string[]> {
  return withClient({ connectionString: url, connectionTimeoutMillis: 5_000 }, async (client) => {
    await lockMigrations(client);
    const known = build ?? (await readMigrations());
    const schema = await checkSchema(url, known);
    if (schema.state === 'unknown')
      throw new Error(`${schema.reason} Repeat a failed "ces restore" into an empty database.`);
    if (schema.state !== 'behind') return [];
    await assertOurs(client);
    const pending = known.filter(({ name }) => schema.pending.includes(name));
    for (const migration of pending) {
      const { name } = migration;
      await withLockRetries(
        patience,
        (message) => log(`Migration ${name} ${message}`),
        () => applyMigration(client, migration, patience.timeoutMs),
      ).catch((cause: unknown) => {
        // A lock's error, the only one with a cause, has advice already.
        const hasAdvice = cause instanceof Error && cause.cause !== undefined;
        const isRight = sqlState(cause) === '42501';
        const remedy = isRight
          ? 'Set DATABASE_OWNER_URL, with the role that owns the database and all tables'
          : 'Correct this';
        const advice = hasAdvice ? '' : `. ${remedy}${REPEAT}`;
        throw new Error(`Migration ${name} failed: ${messageOf(cause)}${advice}`, { cause });
      });
    }
    return schema.pending;
  });
}

/** Polls for the lock: a waiting statement has a snapshot, and CREATE INDEX CONCURRENTLY waits for all snapshots. */
async function lockMigrations(client: Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock(72707369) AS locked');
    if (rows[0]?.locked) return;
    await delay(50);
  }
}

/** @throws Error for a database that has tables but no record of migrations: it belongs to another program */
async function assertOurs(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND to_regclass('_prisma_migrations') IS NULL
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e') LIMIT 1`,
  );
  const [table] = rows;
  if (!table) return;
  throw new Error(
    `Migrations were not applied: the database is not empty: it has the table ${table.name}, but no record of migrations. It may be of another program, or a restore into it was interrupted. Use the database of this service (DATABASE_… variables or DATA_DIR), or an empty one.`,
  );
}
