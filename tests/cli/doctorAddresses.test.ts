import { createTenant } from '../../src/domain/access/tenants.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { auditRecorder, emptyRow } from '../../src/domain/audit/recorder.js';
import { checkContents, readServer } from '../../src/cli/checks/databaseChecks.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { rowsOf } from '../support/migrations.js';
import { freePort } from '../support/mock.js';
import { hasPgBouncer, startPgBouncer, throughPooler } from '../support/pgbouncer.js';
import { adminUrl, createEmptyDatabase } from '../support/postgres.js';
import { examine, expectFound, openInstallation, type Broken } from './installation.js';

const [installation, unused] = await Promise.all([openInstallation(), freePort()]);
const { database, harness } = installation;
afterAll(() => installation.close());

const sql = (text: string): Promise<unknown> => rowsOf(database.url, text);
const addressWith = (change: Partial<URL>) => Object.assign(new URL(database.serviceUrl), change).href;
const oldTenant = async (): Promise<unknown> => {
  await createTenant(systemContext(harness.domain.db), { name: 'Old', mode: 'live' });
  return sql(`UPDATE tenant SET created_at = now() - interval '3 days' WHERE id = 'old'`);
};
const removeOldTenant = () => sql(`DELETE FROM tenant WHERE id = 'old'`);
const failures: Broken[] = [
  [
    'extensions that someone dropped',
    'search extensions',
    /lacks the extensions btree_gin/,
    /CREATE EXTENSION btree_gin/,
    {},
    {
      prepare: () =>
        sql(
          `ALTER EXTENSION btree_gin SET SCHEMA pg_catalog; UPDATE pg_extension SET extname = 'x' WHERE extname = 'btree_gin'`,
        ),
      undo: () => sql(`UPDATE pg_extension SET extname = 'btree_gin' WHERE extname = 'x'`),
    },
  ],
  [
    'live data without a backup',
    'backup',
    /^The audit records no backup\.$/,
    /ces backup create/,
    {},
    { prepare: oldTenant, undo: removeOldTenant },
  ],
  [
    'a backup that is three days old',
    'backup',
    /^The last backup or archived WAL file is 72 h old\.$/,
    /ces backup create/,
    {},
    {
      prepare: async () => {
        await oldTenant();
        const at = new Date(Date.now() - 3 * 86_400_000);
        await auditRecorder(harness.domain)({
          ...emptyRow,
          at,
          operationId: 'backup create',
          outcome: 'success',
          operator: 'x',
        });
        await addCheckpoints({ ...systemContext(harness.domain.db), log: harness.domain.log });
      },
      undo: removeOldTenant,
    },
  ],
  [
    'a DATABASE_OWNER_URL with a wrong password',
    'owner',
    /password authentication failed/,
    /DATABASE_OWNER_URL/,
    { DATABASE_OWNER_URL: addressWith({ password: 'wrong-4711' }) },
  ],
  [
    'a DATABASE_OWNER_URL whose role owns no table',
    'owner',
    /may not create tables in the schema public/,
    /database\.md#roles/,
    { DATABASE_OWNER_URL: database.serviceUrl },
  ],
  [
    'a DATABASE_OWNER_URL of another database',
    'owner',
    /lead to different databases/,
    /DATABASE_OWNER_URL/,
    { DATABASE_OWNER_URL: adminUrl() },
  ],
  [
    'a pooler that is down',
    'pooler',
    /ECONNREFUSED/,
    /Start the pooler/,
    { DATABASE_URL: addressWith({ port: String(unused) }), DATABASE_DIRECT_URL: database.serviceUrl },
  ],
  [
    'a database behind the pooler that is down',
    'database',
    /ECONNREFUSED/,
    /DATABASE_DIRECT_URL/,
    { DATABASE_DIRECT_URL: addressWith({ port: String(unused) }) },
  ],
];

describe('doctor', () => {
  it.each(failures)('reports %s with its remedy', (...row) => expectFound(installation, 'failure', row));

  it('reports only the pending migrations of an empty database', async () => {
    const empty = await createEmptyDatabase();
    const { code, faults } = await examine(installation, { DATABASE_URL: empty.url });
    await empty.drop();
    expect([code, faults]).toMatchObject([1, [{ check: 'migrations', remedy: expect.stringMatching(/ces migrate/) }]]);
  });

  it('names the time zone of the database, which has no effect', async () => {
    await rowsOf(
      adminUrl(),
      `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET TimeZone = 'America/Chicago'`,
    );
    const { faults, findings } = await examine(installation);
    expect(faults).toEqual([]);
    expect(findings.find(({ check }) => check === 'time zone')?.message).toMatch(/America\/Chicago/);
  });

  it('reports WAL that PostgreSQL fails to archive', async () => {
    const place = { db: harness.domain.db, url: database.url, config: harness.services.config, servers: 1 };
    const server = await readServer(place.db);
    const archiving = { isOn: true, seconds: 10, isFailing: true };
    const findings = await checkContents({ ...server, archiving }, place);
    expect(findings.filter(({ check }) => check === 'backup')).toMatchObject([
      { level: 'failure', message: expect.stringMatching(/archive/), remedy: expect.stringMatching(/archive_command/) },
    ]);
  });
});

(hasPgBouncer() ? describe : describe.skip)('doctor with a pooler', () => {
  const through = (url: string, { port }: { readonly port: number }) => throughPooler(url, port);

  it.each([
    [
      'a pooler without DATABASE_DIRECT_URL',
      {},
      undefined,
      'database',
      /unsupported startup parameter/,
      /set DATABASE_DIRECT_URL/,
    ],
    [
      'a pooler without connect_query',
      { DATABASE_DIRECT_URL: database.serviceUrl },
      'SELECT 1',
      'pooler',
      /connect_query=/,
      /connect_query/,
    ],
  ] as const)('reports %s', async (title, environment, query, check, message, remedy) => {
    const pooler = await startPgBouncer(adminUrl(), query);
    const change = { ...environment, DATABASE_URL: through(database.serviceUrl, pooler) };
    await expectFound(installation, 'failure', [title, check, message, remedy, change, { undo: pooler.close }]);
  });

  it('accepts a large pool behind a pooler, and warns of plain text to a pooler on another machine', async () => {
    const pooler = await startPgBouncer(adminUrl());
    const url = new URL(through(database.serviceUrl, pooler));
    // No known name of this machine, so for the service it is another one.
    const remote = Object.assign(new URL(url), { hostname: '127.1', search: '?sslmode=disable' });
    const found = await examine(installation, {
      ...{ DATABASE_URL: remote.href, DATABASE_DIRECT_URL: database.serviceUrl },
      DATABASE_POOL_SIZE: '500',
    });
    await pooler.close();
    expect(found.faults).toMatchObject([
      { check: 'encryption', level: 'warning', remedy: expect.stringMatching(/DATABASE_URL/) },
    ]);
  });

  it('reports a pooler that leads to another database, and accepts one that leads to the same database', async () => {
    const pooler = await startPgBouncer(adminUrl());
    const examined = (url: string) =>
      examine(installation, { DATABASE_URL: through(url, pooler), DATABASE_DIRECT_URL: database.serviceUrl });
    const [right, wrong] = [await examined(database.serviceUrl), await examined(adminUrl())];
    await pooler.close();
    expect(right).toMatchObject({ code: 0, faults: [] });
    expect(wrong.faults).toMatchObject([
      { check: 'pooler', level: 'failure', message: expect.stringMatching(/different databases/) },
    ]);
  });
});
