import { LAST_RELEASED } from '../../scripts/migrationRules.js';
import { kindOf, locksOf, readMigrations } from '../../src/adapters/database/migrationFile.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import {
  applyMigrations,
  database,
  databaseWith,
  dropDatabases,
  migrationNames,
  rowsOf,
} from '../support/migrations.js';
import { createTestDatabase } from '../support/postgres.js';

interface Schema {
  /** `table.column` → its type, and whether an INSERT may omit it. */
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

afterAll(dropDatabases);

describe('the schema, for servers of the last release', () => {
  let released: Schema;
  let present: Schema;
  beforeAll(async () => {
    const applied = migrationNames.slice(0, migrationNames.indexOf(LAST_RELEASED) + 1);
    released = await schemaOf(await databaseWith(applied));
    present = await schemaOf(await database(createTestDatabase));
  });

  it('keeps every table, column, enum value and function', () => {
    for (const [name, { type }] of Object.entries(released.columns)) {
      expect({ name, type: present.columns[name]?.type }).toEqual({ name, type });
    }
    expect(present.functions).toEqual(expect.arrayContaining(released.functions));
  });

  it('accepts an INSERT that omits the columns added since the release', () => {
    const tables = Object.keys(released.columns).map((name) => name.split('.')[0]);
    const required = Object.keys(present.columns).filter((name) => {
      const wasRequired = released.columns[name]?.isOptional === false;
      return tables.includes(name.split('.')[0]) && !wasRequired && !present.columns[name]?.isOptional;
    });
    expect(required).toEqual([]);
  });

  it('fills the clinic of an item that a server of 1.1.0 inserts together with its encounter', async () => {
    const clinic = '00000000-0000-7000-8000-000000000001';
    const url = await database(createTestDatabase);
    await withClient({ connectionString: url }, async (client) => {
      // Without foreign keys, but with the trigger.
      await client.query(
        `SET session_replication_role = replica; ALTER TABLE gfe_item ENABLE ALWAYS TRIGGER gfe_item_clinic`,
      );
      await client.query(`WITH request AS (
          INSERT INTO encounter (id, tenant_id, status, clinic_id, patient_id, review_type, service_queue, sub_total,
            total_shipping_amt, grand_total, currency, claimable_from, expires_at, created_at, updated_at)
          VALUES ('${clinic}', 't', 'pending_review', '${clinic}', '${clinic}', 'asynchronous', 'provider_network', 1, 0, 1,
            'USD', now(), now(), now(), now())
        ), item AS (
          INSERT INTO gfe_item (id, tenant_id, encounter_id, position, category_id, category_name, subcategory_id,
            sub_category_name, review_often, review_recurring, status)
          VALUES ('${clinic}', 't', '${clinic}', 0, '${clinic}', '', '${clinic}', '', 'YEARLY', true, 'pending_review')
        ) SELECT`);
      expect((await client.query('SELECT clinic_id FROM gfe_item')).rows).toEqual([{ clinic_id: clinic }]);
    });
  });

  it('adds no constraint on columns that the release had', () => {
    const isNew = (name: string): boolean => !(name in released.constraints);
    const isReleased = (column: string): boolean => column in released.columns;
    const added = Object.entries(present.constraints).filter(([name, of]) => isNew(name) && of.every(isReleased));
    expect(added).toEqual([]);
  });
});

it('each migration after the release states its locks stronger than ROW EXCLUSIVE', async () => {
  const later = (await readMigrations()).filter(({ name }) => name > LAST_RELEASED);
  const url = await databaseWith(migrationNames.filter((name) => name <= LAST_RELEASED));
  await withClient({ connectionString: url }, async (client) => {
    for (const { name, sql } of later) {
      if (kindOf(sql) === 'transaction') {
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
        const stated = locksOf(sql)?.locks.map(({ mode, table }) => `${mode} ${table}`);
        // ALTER TABLE holds the strongest mode; the file states only that.
        const strongest = held.map(({ lock }) => lock).filter((lock) => !isWeaker(lock, held));
        expect({ name, locks: strongest.sort() }).toEqual({ name, locks: stated?.sort() });
      }
      await applyMigrations(url, [name]);
    }
  });
});
