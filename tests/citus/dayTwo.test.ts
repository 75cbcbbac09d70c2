import { layoutFaults } from '../../src/adapters/citus/layout.js';
import { applyMigration } from '../../src/adapters/database/applyMigration.js';
import { withClient } from '../../src/adapters/database/withClient.js';
import { clusterResults } from '../../src/cli/checks/clusterChecks.js';
import { databaseWith, dropDatabases, nextMigrations, rowsOf } from '../support/migrations.js';

afterAll(dropDatabases);

it('migrations change the tables of a cluster, and place new tables in its layout', async () => {
  const url = await databaseWith([]);
  await rowsOf(
    url,
    `INSERT INTO webhook_inbox (tenant_id, status, delay_ms)
      SELECT 'tenant-' || n, 200, 0 FROM generate_series(1, 5) AS n`,
  );
  await withClient({ connectionString: url }, async (client) => {
    for (const migration of nextMigrations) await applyMigration(client, migration, 2_000);
    expect(await layoutFaults(client)).toEqual([]);
  });
  expect(await rowsOf(url, 'SELECT DISTINCT reason FROM webhook_inbox')).toEqual([{ reason: 'timeout' }]);
  const placed = `SELECT citus_table_type AS type FROM citus_tables WHERE table_name = 'inbox_reason'::regclass`;
  expect(await rowsOf(url, placed)).toEqual([{ type: 'reference' }]);
});

it('doctor counts the nodes of a cluster, and names tables that are not distributed or not colocated', async () => {
  const url = await databaseWith([]);
  const [sound] = await clusterResults(url);
  expect(sound).toMatchObject({ message: expect.stringMatching(/^3 nodes of Citus are active/) });
  await rowsOf(url, 'CREATE TABLE stray (tenant_id TEXT, id UUID, PRIMARY KEY (tenant_id, id))');
  const faultOf = async () => (await clusterResults(url)).map((result) => JSON.stringify(result)).join();
  expect(await faultOf()).toContain('The table stray is not a distributed table.');
  await rowsOf(url, `SELECT create_distributed_table('stray', 'tenant_id', colocate_with => 'none')`);
  expect(await faultOf()).toContain('Not colocated with the other tables: stray.');
});
