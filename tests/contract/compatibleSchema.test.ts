import { fileURLToPath } from 'node:url';
import { readManifest } from '../../scripts/releases.js';
import { kindOf, locksOf } from '../../src/adapters/database/migrationFile.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import { packageRoot } from '../../src/packageRoot.js';
import {
  database,
  databaseWith,
  dropDatabases,
  migrations,
  nextBuild,
  nextMigrations,
  rowsOf,
} from '../support/migrations.js';
import { createEmptyDatabase, createTestDatabase } from '../support/postgres.js';

interface Schema {
  /** `table.column` → its type, and whether an INSERT may omit it; `enum.value`, too. */
  readonly columns: Record<string, { readonly type: string; readonly isOptional: boolean }>;
  /** `table.name` of checks and unique or foreign keys → the columns. */
  readonly constraints: Record<string, string[]>;
  readonly functions: string[];
}

/** Whether the session also holds an ACCESS EXCLUSIVE lock of the table. */
const isWeaker = (lock: string, held: readonly { lock: string }[]): boolean =>
  held.some((other) => other.lock !== lock && other.lock === `ACCESS EXCLUSIVE ${lock.split(' ').at(-1)}`);

async function schemaOf(url: string): Promise<Schema> {
  const columns = await rowsOf(
    url,
    `SELECT relname || '.' || attname AS name, format_type(atttypid, atttypmod) AS type,
        NOT attnotnull OR atthasdef OR attidentity <> '' AS optional
      FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
      WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
    UNION ALL SELECT typname || '.' || enumlabel, 'enum', true FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid`,
  );
  const ofColumns = (keys: string): string => `ARRAY(SELECT relname || '.' || attname FROM pg_attribute
    WHERE attrelid = pg_class.oid AND attnum = ANY (${keys}))`;
  const constraints = await rowsOf(
    url,
    `SELECT relname || '.' || conname AS name, ${ofColumns('conkey')} AS columns
      FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
      WHERE relnamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'u', 'x')
    UNION ALL SELECT relname || '.' || indexrelid::regclass, ${ofColumns('indkey')}
      FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
      WHERE relnamespace = 'public'::regnamespace AND indisunique AND NOT indisprimary`,
  );
  const functions = await rowsOf(url, `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace`);
  return {
    columns: Object.fromEntries(
      columns.map(({ name, type, optional }) => [name, { type: String(type), isOptional: optional === true }]),
    ),
    constraints: Object.fromEntries(constraints.map(({ name, columns: of }) => [name, of as string[]])),
    functions: functions.map(({ proname }) => String(proname)),
  };
}

afterEach(dropDatabases);

/** The reasons why servers that were built for `earlier` may fail on `later`. */
function faultsOf(earlier: Schema, later: Schema): string[] {
  const isReleased = (column: string): boolean => column in earlier.columns;
  const tables = Object.keys(earlier.columns).map((name) => name.split('.')[0]);
  const gone = Object.entries(earlier.columns).filter(([name, { type }]) => later.columns[name]?.type !== type);
  const required = Object.entries(later.columns).filter(([name, { isOptional }]) => {
    const wasRequired = earlier.columns[name]?.isOptional === false;
    return tables.includes(name.split('.')[0]) && !wasRequired && !isOptional;
  });
  const narrowed = Object.entries(later.constraints).filter(
    ([name, of]) => !(name in earlier.constraints) && of.every(isReleased),
  );
  return [
    ...gone.map(([name]) => `${name} is gone or has another type`),
    ...earlier.functions.filter((name) => !later.functions.includes(name)).map((name) => `${name}() is gone`),
    ...required.map(([name]) => `${name} is required`),
    ...narrowed.map(([name]) => `${name} narrows columns that exist`),
  ];
}

/** The locks stronger than ROW EXCLUSIVE of existing tables that a migration holds at its end. */
async function locksHeldBy(url: string, sql: string): Promise<string[]> {
  return withClient({ connectionString: url }, async (client) => {
    const { rows: tables } = await client.query<{ oid: number }>(`SELECT oid FROM pg_class WHERE relkind = 'r'`);
    await client.query('BEGIN');
    await client.query(sql);
    const { rows: held } = await client.query<{ lock: string }>(
      `SELECT upper(regexp_replace(replace(mode, 'Lock', ''), '(?<=[a-z])(?=[A-Z])', ' ', 'g')) || ' ' || relname AS lock
        FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE pid = pg_backend_pid() AND relation = ANY ($1) AND relnamespace = 'public'::regnamespace
          AND mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')`,
      [tables.map(({ oid }) => oid)],
    );
    await client.query('ROLLBACK');
    // ALTER TABLE holds the strongest mode; the file states only that.
    return held.map(({ lock }) => lock).filter((lock) => !isWeaker(lock, held));
  });
}

const statedBy = (sql: string): string[] | undefined =>
  locksOf(sql)?.locks.map(({ mode, table }) => `${mode} ${table}`);

describe('the schema', () => {
  let present: Schema;
  beforeAll(async () => {
    present = await schemaOf(await database(createTestDatabase));
  });

  it('serves servers of the last release', async () => {
    const manifest = await readManifest(fileURLToPath(packageRoot));
    const released = migrations.filter(({ name }) => `prisma/migrations/${name}/migration.sql` in manifest);
    const schema = await schemaOf(await databaseWith(released, createEmptyDatabase));
    expect(faultsOf(schema, present)).toEqual([]);
  });

  it('of a later build serves servers of this one after migrations that follow the rules', async () => {
    expect(faultsOf(present, await schemaOf(await databaseWith(nextMigrations)))).toEqual([]);
  });

  it.each([
    ['drops a column', 'ALTER TABLE webhook_inbox DROP COLUMN delay_ms', 'webhook_inbox.delay_ms is gone'],
    ['changes a type', 'ALTER TABLE webhook_inbox ALTER status TYPE BIGINT', 'another type'],
    ['renames a value', `ALTER TYPE hold_reason RENAME VALUE 'revoked' TO 'ended'`, 'hold_reason.revoked is gone'],
    ['drops a function', 'DROP FUNCTION clock_under_lock', 'clock_under_lock() is gone'],
    ['requires a new column', 'ALTER TABLE webhook_inbox ADD reason TEXT NOT NULL', 'webhook_inbox.reason is required'],
    ['requires an optional column', 'ALTER TABLE client ALTER sex SET NOT NULL', 'client.sex is required'],
    ['adds a check', 'ALTER TABLE webhook_inbox ADD CHECK (status > 0)', 'webhook_inbox_status_check narrows'],
    ['adds a unique index', 'CREATE UNIQUE INDEX one ON webhook_inbox(status)', 'webhook_inbox.one narrows'],
  ])('of a later build breaks servers of this one if a migration %s', async (_name, sql, fault) => {
    const url = await database(createTestDatabase);
    await rowsOf(url, sql);
    expect(faultsOf(present, await schemaOf(url))).toEqual([expect.stringContaining(fault)]);
  });
});

describe('the locks that a migration states', () => {
  it.each(nextBuild.filter(({ sql }) => kindOf(sql) === 'transaction'))(
    'are those that it holds: $name',
    async ({ name, sql }) => {
      const earlier = nextMigrations.filter((migration) => migration.name < name);
      const isInitial = name === migrations[0]?.name;
      const url = await (isInitial ? database(createEmptyDatabase) : databaseWith(earlier));
      expect((await locksHeldBy(url, sql)).sort()).toEqual(statedBy(sql)?.sort());
    },
  );

  it('are incomplete if its comment omits one that it holds', async () => {
    const sql = '-- Locks: none\nALTER TABLE webhook_inbox ADD COLUMN reason TEXT;';
    const held = await locksHeldBy(await database(createTestDatabase), sql);
    expect(held).toEqual(['ACCESS EXCLUSIVE webhook_inbox']);
    expect(statedBy(sql)).toEqual([]);
  });
});
