import { Client } from 'pg';
import { openEmbeddedPostgres, type EmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { feedPage, recordPaid, type ToldEvent } from '../support/events.js';
import { newClient, newPartner } from '../support/factories.js';
import { startHarness } from '../support/harness.js';
import { createTestDatabase, temporaryDataDir, type TestDatabase } from '../support/postgres.js';

// A dump keeps the values of rows, but not the transaction ids of the cluster that wrote them. The test copies rows into
// a new cluster, whose transaction ids are far behind.

let database: TestDatabase;
let cluster: EmbeddedPostgres;
let remove: () => Promise<void>;
beforeAll(async () => {
  const folder = await temporaryDataDir();
  remove = folder.remove;
  const options = { dataDir: folder.dataDir, role: 'server', log: () => {}, settings: { fsync: 'off' } } as const;
  cluster = await openEmbeddedPostgres(options);
  database = await createTestDatabase();
});
afterAll(async () => {
  await cluster.close();
  await remove();
  await database.drop();
});

async function onBoth<T>(work: (from: Client, to: Client) => Promise<T>): Promise<T> {
  const [from, to] = [new Client({ connectionString: database.url }), new Client({ connectionString: cluster.url })];
  await Promise.all([from.connect(), to.connect()]);
  try {
    return await work(from, to);
  } finally {
    await Promise.all([from.end(), to.end()]);
  }
}

it('cursors of the event feed continue after a restore into another cluster, without hidden or repeated events', async () => {
  await migrateDatabase({ ownerUrl: cluster.url, url: cluster.url });
  const before = await startHarness({ databaseUrl: database.url });
  const partner = await newPartner(before);
  const { tenantId } = partner;
  for (const number of [1, 2, 3]) await recordPaid(before, { tenantId, clinicId: null }, `ORD-10000${number}`);
  const cursors = [
    (await feedPage(before, partner, { limit: 1 })).next_cursor,
    (await feedPage(before, partner)).next_cursor,
  ];
  await before.close();

  const ids = await onBoth(async (from, to) => {
    for (const table of ['tenant', 'event_counter', 'event']) {
      const { rows } = await from.query(`SELECT jsonb_agg(to_jsonb(t)) AS rows FROM ${table} AS t`);
      const copied = 'OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_recordset';
      await to.query(`INSERT INTO ${table} ${copied}(NULL::${table}, $1)`, [JSON.stringify(rows[0].rows)]);
    }
    const now = (client: Client) => client.query('SELECT pg_current_xact_id()::text::int AS id');
    return { from: (await now(from)).rows[0].id, to: (await now(to)).rows[0].id };
  });
  expect(ids.to).toBeLessThan(ids.from);

  const after = await startHarness({ databaseUrl: cluster.url });
  try {
    const reader = await newClient(after, tenantId);
    await recordPaid(after, { tenantId, clinicId: null }, 'ORD-100004');
    const orders = async (cursor?: string): Promise<unknown[]> => {
      const { data }: { data: readonly ToldEvent[] } = await feedPage(after, reader, { after: cursor });
      return data.map((event) => Number(String(event.data['order_no']).slice(-1)));
    };
    expect([await orders(cursors[0]), await orders(cursors[1])]).toEqual([[2, 3, 4], [4]]);
    expect(await orders()).toEqual([1, 2, 3, 4]);
  } finally {
    await after.close();
  }
});
