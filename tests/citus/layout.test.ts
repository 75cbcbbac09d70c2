import { createTenant } from '../../src/domain/access/tenants.js';
import { openDatabase } from '../../src/adapters/database/database.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { runJson, runProgram } from '../cli/runProgram.js';
import { newEncounter, newPartner } from '../support/factories.js';
import { startHarness } from '../support/harness.js';
import { dropDatabases, opened, rowsOf } from '../support/migrations.js';
import { getOrder, pay } from '../support/orders.js';
import { adminUrl, createEmptyDatabase, createUndistributedDatabase, type TestDatabase } from '../support/postgres.js';
import { cancelled, completedEncounter } from '../support/reviews.js';

afterAll(dropDatabases);

const environment = ({ url, serviceUrl }: TestDatabase) => ({ DATABASE_URL: serviceUrl, DATABASE_OWNER_URL: url });
const layout = (database: TestDatabase, ...options: string[]) =>
  runProgram(environment(database), 'citus', 'layout', ...options);

const foreignKeys = (url: string) =>
  rowsOf(
    url,
    `SELECT conrelid::regclass::text AS table, conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint
      WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conname !~ '_[0-9]{6}$' ORDER BY conname`,
  );
const triggers = (url: string) =>
  rowsOf(
    url,
    `SELECT pg_get_triggerdef(pg_trigger.oid) AS definition FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
      WHERE NOT tgisinternal AND tgname !~ '_[0-9]{6}$' AND relnamespace = 'public'::regnamespace
        AND relname !~ '_[0-9]{6}$' ORDER BY relname, tgname`,
  );
const placed = (url: string) =>
  rowsOf(
    url,
    `SELECT citus_table_type AS type, count(*)::int, count(DISTINCT colocation_id)::int AS groups
      FROM citus_tables GROUP BY 1 ORDER BY 1`,
  );

describe('citus layout', () => {
  it('refuses a database without Citus, migrations, the service role or workers', async () => {
    const plain = await opened(createEmptyDatabase);
    expect(await layout(plain, '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/CREATE EXTENSION citus/),
    });
    const cluster = await opened(() => createUndistributedDatabase({ isMigrated: false }));
    expect(await layout(cluster, '--yes')).toMatchObject({ code: 1, stderr: expect.stringMatching(/ces migrate/) });
    const stranger = { ...cluster, serviceUrl: cluster.serviceUrl.replace('ces_test_service:', 'ces_test_nobody:') };
    await rowsOf(adminUrl(), 'CREATE ROLE ces_test_nobody LOGIN');
    try {
      const { stderr } = await layout(stranger, '--yes');
      expect(stderr).toMatch(/127.0.0.1:\d+: Create the role ces_test_nobody/);
    } finally {
      await rowsOf(adminUrl(), 'DROP ROLE ces_test_nobody');
    }
    await rowsOf(cluster.url, `SELECT citus_remove_node(nodename, nodeport) FROM pg_dist_node WHERE groupid > 0`);
    expect((await layout(cluster, '--yes')).stderr).toMatch(/citus_add_node/);
  });

  it('distributes a database with rows, keeps its foreign keys and rows, and does nothing the second time', async () => {
    const database = await opened(() => createUndistributedDatabase({ isMigrated: true }));
    const db = openDatabase(database.serviceUrl, { poolSize: 1 });
    const { id } = await createTenant(systemContext(db), { name: 'Early', id: 'early', mode: 'live' });
    await rowsOf(
      database.url,
      `INSERT INTO event_counter (tenant_id, position) VALUES ('early', 4711)
      ON CONFLICT (tenant_id) DO UPDATE SET position = 4711`,
    );
    const harness = await startHarness({ databaseUrl: database.serviceUrl });
    const partner = await newPartner(harness);
    const waiting = await newEncounter(harness, partner);
    const { order_no: orderNo } = await completedEncounter(harness, partner);
    expect((await pay(harness, partner, orderNo, { amount: '1.00' })).status).toBe(201);
    const before = await foreignKeys(database.url);
    const triggersBefore = await triggers(database.url);
    expect((await layout(database, '--dry-run')).stdout).toMatch(/Dry run.*To move to their places: \d+ tables/);
    expect(await placed(database.url)).toEqual([]);

    const { tables } = await runJson(environment(database), 'citus', 'layout', '--yes');
    const ofPlace = (wanted: string) => tables.filter(({ place }: { place: string }) => place === wanted);
    const names = (wanted: string) => ofPlace(wanted).map(({ table }: { table: string }) => table);
    expect(names('reference')).toEqual(['ref_state', 'signing_key']);
    expect(names('local')).toEqual(['_prisma_migrations', 'job_run']);
    const after = [
      { type: 'distributed', count: ofPlace('distributed').length, groups: 1 },
      { type: 'reference', count: 2, groups: 1 },
    ];
    expect(await placed(database.url)).toEqual(after);
    expect(await foreignKeys(database.url)).toEqual(before);
    expect(await triggers(database.url)).toEqual(triggersBefore);
    expect((await cancelled(harness, partner, waiting)).status).toBe('cancelled');
    expect((await getOrder(harness, partner, orderNo)).body).toMatchObject({ paid_amt: '1.00' });
    const found = await db.prisma.eventCounter.findUnique({ where: { tenantId: id } });
    expect(found).toMatchObject({ position: 4711n });
    expect(await rowsOf(database.url, 'SELECT FROM ONLY event_counter')).toHaveLength(2);

    expect((await layout(database)).stdout).toMatch(/All tables are in their places/);
    expect(await placed(database.url)).toEqual(after);
    await harness.close();
    await db.close();
  });

  it('changes nothing if a table cannot be distributed, and completes after the cause is gone', async () => {
    const database = await opened(() => createUndistributedDatabase({ isMigrated: true }));
    const sql = `CREATE TABLE zebra (tenant_id TEXT, id UUID, stripe TEXT UNIQUE, PRIMARY KEY (tenant_id, id))`;
    await rowsOf(database.url, sql);
    const before = await foreignKeys(database.url);
    expect((await layout(database, '--yes')).code).toBe(1);
    expect(await placed(database.url)).toEqual([]);
    expect(await foreignKeys(database.url)).toEqual(before);
    await rowsOf(database.url, 'DROP TABLE zebra');
    expect((await layout(database, '--yes')).code).toBe(0);
    expect(await foreignKeys(database.url)).toEqual(before);
  });
});
