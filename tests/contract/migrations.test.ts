import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { schemaDiff } from '../../scripts/schemaEngine.js';
import { planMigrations } from '../../src/adapters/database/migrationPlan.js';
import { checkSchema, migrate } from '../../src/adapters/database/migrations.js';
import {
  database,
  databaseWith,
  dropDatabases,
  migrations,
  namesOf,
  nextBuild,
  nextMigrations,
  rowsOf,
  tablesOf,
} from '../support/migrations.js';
import { createEmptyDatabase, createTestDatabase } from '../support/postgres.js';

const migrationNames = namesOf(migrations);
const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await dropDatabases();
});

/**
 * The schema in PostgreSQL, one line for each fact that schema.prisma can express. It omits the hand-written parts:
 * checks, triggers, partial and GIN indexes, when foreign keys are checked, and the values and collations of generated and
 * identity columns.
 */
async function schemaFacts(url: string): Promise<string[]> {
  const rows = await rowsOf(
    url,
    `
    SELECT format('column %s.%s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN 'NOT NULL' END) AS fact
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL SELECT format('default %s %s', d.adrelid::regclass || '.' || a.attname, pg_get_expr(d.adbin, d.adrelid))
      FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
      JOIN pg_class c ON c.oid = d.adrelid
      WHERE c.relnamespace = 'public'::regnamespace AND a.attgenerated = '' AND pg_get_expr(d.adbin, d.adrelid) NOT LIKE 'nextval(%'
    UNION ALL SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
      FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u', 'f', 'x')
    UNION ALL SELECT 'index ' || indexdef FROM pg_indexes
      WHERE schemaname = 'public' AND indexdef NOT LIKE '% WHERE %' AND indexdef NOT LIKE '% USING gin %'
    UNION ALL SELECT format('enum %s %s', t.typname, string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder))
      FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid GROUP BY t.typname`,
  );
  const facts = rows.map(({ fact }) => String(fact).replace(' DEFERRABLE INITIALLY DEFERRED', ''));
  return facts.filter((fact) => !fact.includes('_prisma_migrations')).sort();
}

/** Parts of the invariants between rows (tests/domain/encounters/invariants.test.ts), which schema.prisma omits. */
const ofInvariants = [
  'column encounter.completed_id uuid ',
  'column encounter.first_order integer NOT NULL',
  'column encounter.phase text NOT NULL',
  'column gfe_item.encounter_phase text ',
  'column order.encounter_phase text NOT NULL',
  'column order.first_position integer NOT NULL',
  'constraint "order" order_has_line FOREIGN KEY (tenant_id, id, first_position) ' +
    'REFERENCES order_line(tenant_id, order_id, "position")',
  'constraint "order" order_of_completed_encounter FOREIGN KEY (tenant_id, encounter_id, encounter_phase) ' +
    'REFERENCES encounter(tenant_id, id, phase)',
  'constraint encounter encounter_completed_has_order FOREIGN KEY (tenant_id, completed_id, first_order) ' +
    'REFERENCES "order"(tenant_id, encounter_id, "position")',
  'constraint gfe_item gfe_item_pending_of_open_encounter FOREIGN KEY (tenant_id, encounter_id, encounter_phase) ' +
    'REFERENCES encounter(tenant_id, id, phase)',
  'index CREATE UNIQUE INDEX encounter_phase_key ON public.encounter USING btree (tenant_id, id, phase)',
];

describe('migrate', () => {
  it('creates the schema of schema.prisma, plus the columns, foreign keys and index of the invariants between rows', async () => {
    const migrated = await database(createTestDatabase);
    const declared = await database(createEmptyDatabase);
    await rowsOf(declared, await schemaDiff(declared));
    expect(await schemaFacts(migrated)).toEqual([...(await schemaFacts(declared)), ...ofInvariants].sort());
  });

  it('applies each migration once, even when several processes start on one empty database', async () => {
    const url = await database(createEmptyDatabase);
    const applied = await Promise.all([migrate(url), migrate(url), migrate(url)]);
    expect(applied.flat()).toEqual(migrationNames);
    expect(await migrate(url)).toEqual([]);
    expect(await rowsOf(url, 'SELECT migration_name FROM _prisma_migrations')).toHaveLength(migrationNames.length);
  });

  it('rolls back a failing migration and names it, and applies it after the cause is removed', async () => {
    const url = await database(createEmptyDatabase);
    await rowsOf(url, `CREATE TYPE "order_status" AS ENUM ('in the way')`);
    await expect(migrate(url)).rejects.toThrow(/^Migration \d{14}_initial failed: .*"order_status" already exists/);
    expect(await tablesOf(url)).toEqual([]);
    await rowsOf(url, 'DROP TYPE "order_status"');
    expect(await migrate(url)).toEqual(migrationNames);
  });

  it('refuses a database that contains tables of another application', async () => {
    const url = await database(createEmptyDatabase);
    await rowsOf(url, 'CREATE TABLE other (id int)');
    await expect(migrate(url)).rejects.toThrow(/^Migrations were not applied: .*not empty/s);
    expect(await tablesOf(url)).toEqual(['other']);
  });
});

describe('migrate on a database that is in use', () => {
  const [first = '', locking = '', ...rest] = namesOf(nextMigrations);
  const patience = { timeoutMs: 100, pausesMs: [10, 10] };

  async function connect(url: string): Promise<Client> {
    const client = new Client({ connectionString: url, application_name: 'a report', statement_timeout: 3_000 });
    clients.push(client);
    await client.connect();
    return client;
  }

  it('lets requests run between its attempts to get a lock, and reports each attempt', async () => {
    const url = await database(createTestDatabase);
    const [report, requests] = [await connect(url), await connect(url)];
    await report.query(`BEGIN; SELECT FROM webhook_inbox WHERE tenant_id = 'lakeside'`);
    const messages: string[] = [];
    const migration = { isRunning: true };
    const migrating = migrate(url, (message) => messages.push(message), patience, nextBuild)
      .catch((error: unknown) => messages.push(String(error)))
      .finally(() => (migration.isRunning = false));
    while (migration.isRunning) await requests.query('SELECT FROM webhook_inbox');
    await migrating;

    const waits = expect.stringContaining(`Migration ${locking} waits for a lock`);
    expect(messages).toEqual([waits, waits, expect.any(String)]);
    expect(messages.at(-1)).toContain(`Migration ${locking} failed: it got no lock in 3 attempts`);
  });

  it('keeps the migrations before the one that could not get its lock, and resumes with that one', async () => {
    const url = await database(createTestDatabase);
    const report = await connect(url);
    await report.query('BEGIN; SELECT FROM webhook_inbox');
    await expect(migrate(url, undefined, { ...patience, pausesMs: [] }, nextBuild)).rejects.toThrow(locking);
    expect(await tablesOf(url)).toContain('inbox_reason');
    const pending = [locking, ...rest];
    expect(await checkSchema(url, nextBuild)).toEqual({ state: 'behind', pending });
    expect(await migrate(url, () => void report.query('COMMIT'), patience, nextBuild)).toEqual(pending);
    expect(await checkSchema(url)).toEqual({ state: 'newer', names: [first, ...pending] });
  });
});

describe('migrations that do not run in one transaction', () => {
  const patience = { timeoutMs: 20, pausesMs: [] };
  const invalid = `SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid`;
  const [indexing] = nextMigrations.slice(2);
  const beforeIndex = () => databaseWith(nextMigrations.slice(0, 2));

  it('rebuild an index that an interrupted attempt left invalid', async () => {
    const url = await beforeIndex();
    await rowsOf(url, 'CREATE INDEX webhook_inbox_reason_idx ON webhook_inbox(status)');
    await rowsOf(url, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'webhook_inbox_reason_idx'::regclass`);
    await migrate(url, undefined, undefined, nextBuild);
    expect(await rowsOf(url, invalid)).toEqual([]);
    const [index] = await rowsOf(url, `SELECT pg_get_indexdef('webhook_inbox_reason_idx'::regclass) AS definition`);
    expect(index?.['definition']).toContain('(tenant_id, reason)');
  });

  it('wait for an older transaction, while requests still write', async () => {
    const url = await beforeIndex();
    const report = new Client({ connectionString: url });
    clients.push(report);
    await report.connect();
    await report.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM webhook_inbox');
    const migrating = migrate(url, undefined, patience, nextBuild);
    const waiting = `SELECT FROM pg_locks WHERE locktype = 'virtualxid' AND NOT granted`;
    while ((await rowsOf(url, waiting)).length === 0) await delay(20);
    await rowsOf(url, `SET lock_timeout = 1000; BEGIN; LOCK TABLE webhook_inbox IN ROW EXCLUSIVE MODE; COMMIT`);
    await report.query('COMMIT');
    expect(await migrating).toContain(indexing?.name);
    expect(await rowsOf(url, invalid)).toEqual([]);
  });

  it('change rows in batches, each in its own transaction, until no row is left', async () => {
    const url = await database(createTestDatabase);
    await rowsOf(url, `INSERT INTO webhook_inbox SELECT 'tenant-' || n, 200, 0 FROM generate_series(1, 5) AS n`);
    await migrate(url, undefined, undefined, nextBuild);
    const rows = 'SELECT reason, count(*)::int AS rows, count(DISTINCT xmin::text)::int AS batches';
    expect(await rowsOf(url, `${rows} FROM webhook_inbox GROUP BY reason`)).toEqual([
      { reason: 'timeout', rows: 5, batches: 3 },
    ]);
  });
});

describe('planMigrations', () => {
  it('states for each pending migration how it runs, its locks and the rows of their tables', async () => {
    const url = await database(createTestDatabase);
    await rowsOf(url, `UPDATE pg_class SET reltuples = 700 WHERE oid = 'webhook_inbox'::regclass`);
    const schema = await checkSchema(url, nextBuild);
    const pending = schema.state === 'behind' ? schema.pending : [];
    const lock = (mode: string) => [{ mode, table: 'webhook_inbox', rows: 700 }];
    const [table, column, index, batches] = pending;
    expect(await planMigrations(url, pending, nextBuild)).toEqual([
      { migration: table, runs: 'in a transaction', locks: [] },
      { migration: column, runs: 'in a transaction, reads no row', locks: lock('ACCESS EXCLUSIVE') },
      { migration: index, runs: 'beside requests, reads all rows', locks: lock('SHARE UPDATE EXCLUSIVE') },
      { migration: batches, runs: 'in batches', locks: lock('ROW EXCLUSIVE') },
    ]);
    expect(await tablesOf(url)).not.toContain('inbox_reason');
  });
});
