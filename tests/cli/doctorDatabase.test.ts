import { createTenant } from '../../src/domain/access/tenants.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { auditRecorder } from '../../src/domain/audit/recorder.js';
import { auditRow } from '../domain/audit/auditRow.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { migrations, rowsOf } from '../support/migrations.js';
import { freePort } from '../support/mock.js';
import { adminUrl } from '../support/postgres.js';
import { examine, expectFound, openInstallation, type Broken } from './installation.js';

const [installation, unused] = await Promise.all([openInstallation(), freePort()]);
const { database, harness } = installation;
afterAll(() => installation.close());

const name = new URL(database.url).pathname.slice(1);
const sql = (text: string): Promise<unknown> => rowsOf(database.url, text);
/** Connects to another database, because RESET in a read-only session of this one would fail. */
const setting = (text: string) => ({
  prepare: () => rowsOf(adminUrl(), `ALTER DATABASE ${name} SET ${text}`),
  undo: () => rowsOf(adminUrl(), `ALTER DATABASE ${name} RESET ALL`),
});
const address = (change: Partial<URL>, url = database.serviceUrl) => ({
  DATABASE_URL: Object.assign(new URL(url), change).href,
});
const addJob = (values: string) => ({
  prepare: () =>
    sql(`INSERT INTO job_run (name, started_at, failed, due_at) VALUES ('purge-events', now(), ${values})`),
  undo: () => sql(`DELETE FROM job_run`),
});
const lastMigration = migrations.at(-1)?.name;
const record = (migration: string, finishedAt: string) => ({
  prepare: () =>
    sql(`INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name)
      VALUES (gen_random_uuid(), 'x', ${finishedAt}, '${migration}')`),
  undo: () => sql(`DELETE FROM _prisma_migrations WHERE checksum = 'x'`),
});
const failures: Broken[] = [
  [
    'a database that is down',
    'database',
    /skipped: connect ECONNREFUSED/,
    /Start PostgreSQL/,
    address({ port: String(unused) }),
  ],
  [
    'a wrong password',
    'database',
    /password authentication failed/,
    /DATABASE_URL/,
    address({ password: 'wrong-4711' }),
  ],
  ['a missing database', 'database', /does not exist/, /DATABASE_URL/, address({ pathname: '/missing' })],
  ['a remote database without sslmode', 'database', /must say sslmode/, /sslmode/, address({ host: 'db.example' })],
  [
    'read-only sessions',
    'primary',
    /read-only/,
    /default_transaction_read_only/,
    {},
    setting('default_transaction_read_only = on'),
  ],
  [
    'a log that contains parameter values',
    'database log',
    /log_parameter_max_length = -1, log_error_verbosity = terse/,
    /log_parameter_max_length = 0/,
    {},
    setting('log_parameter_max_length = -1'),
  ],
  [
    'a log whose errors are not terse',
    'database log',
    /log_error_verbosity = default/,
    /terse/,
    {},
    setting(`log_error_verbosity = 'default'`),
  ],
  ['a pool that is too large', 'connections', /^1 × .* = 513 /, /max_connections/, { DATABASE_POOL_SIZE: '500' }],
  ['too many servers', 'connections', /^40 × .* = 920 /, /DATABASE_POOL_SIZE/, {}, { options: ['--servers', '40'] }],
  [
    'a pending migration',
    'migrations',
    new RegExp(`^Pending: ${lastMigration}`),
    /ces migrate/,
    {},
    {
      prepare: () =>
        sql(`UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = '${lastMigration}'`),
      undo: () => sql(`UPDATE _prisma_migrations SET rolled_back_at = NULL`),
    },
  ],
  [
    'a role that lacks a right',
    'role',
    /lacks rights on webhook_inbox\./,
    /ces migrate.*DATABASE_OWNER_URL/,
    {},
    {
      prepare: () => sql(`REVOKE DELETE ON webhook_inbox FROM ces_test_service`),
      undo: () => sql(`GRANT DELETE ON webhook_inbox TO ces_test_service`),
    },
  ],
];
const warnings: Broken[] = [
  [
    'a remote database in plain text',
    'encryption',
    /plain text/,
    /sslmode=verify-full/,
    address({ hostname: '127.1', search: '?sslmode=disable' }),
  ],
  [
    'a newer schema that supports this build',
    'migrations',
    /newer than this build.*99990101_later/,
    /Update this build/,
    {},
    record('99990101_later', 'now()'),
  ],
  [
    'a role that owns the schema',
    'role',
    /may change the schema or the audit/,
    /a separate role/,
    { DATABASE_URL: database.url },
  ],
  [
    'a provider of a live tenant without credential and DEA number',
    'providers',
    /^1 active provider lacks a credential or a DEA number/,
    /ces provider import/,
    {},
    {
      prepare: async () => {
        const { id } = await createTenant(systemContext(harness.domain.db), { name: 'Live', mode: 'live' });
        await sql(`INSERT INTO provider (id, tenant_id, reviewer_ref, name, npi, is_active, created_at, updated_at)
          VALUES (gen_random_uuid(), '${id}', 'ada', 'Ada Lane', '1234567893', true, now(), now())`);
      },
      undo: () => sql(`DELETE FROM provider`),
    },
  ],
  [
    'a job that is late',
    'jobs',
    /^1 jobs are due, the oldest for 6\d\d s/,
    /Start or restart a server/,
    {},
    addJob(`false, now() - interval '10 minutes'`),
  ],
  [
    'rows of the audit without checkpoint',
    'audit',
    /^Rows of the audit have waited for a checkpoint for 36\d\d s/,
    /Start or restart a server/,
    {},
    {
      prepare: () => auditRecorder(harness.domain)(auditRow({ at: new Date(Date.now() - 3_600_000) })),
      undo: () => addCheckpoints({ ...systemContext(harness.domain.db), log: harness.domain.log }),
    },
  ],
];

describe('doctor', () => {
  it('finds no fault in a good installation', async () => {
    const { code, findings, faults } = await examine(installation);
    expect({ code, faults }).toEqual({ code: 0, faults: [] });
    expect(findings.length).toBeGreaterThan(14);
  });

  it('reports clocks that differ', async () => {
    const { now } = Date;
    Date.now = () => now() - 3_600_000;
    const { code, faults } = await examine(installation).finally(() => (Date.now = now));
    const message = "The clock of the database is 3600 s ahead of this machine's.";
    expect([code, faults]).toEqual([1, [{ check: 'clock', level: 'failure', message, remedy: expect.any(String) }]]);
  });

  it('reports an empty database whose encoding is not UTF-8', async () => {
    await sql(`CREATE DATABASE ${name}_ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0`);
    const { code, faults } = await examine(installation, address({ pathname: `/${name}_ascii` }));
    await sql(`DROP DATABASE ${name}_ascii WITH (FORCE)`);
    expect(code).toBe(1);
    expect(faults).toMatchObject([
      { check: 'encoding', level: 'failure', remedy: expect.stringMatching(/ENCODING 'UTF8'/) },
      { check: 'migrations', level: 'failure', message: expect.stringMatching(/^Pending: \d+_initial\.$/) },
    ]);
  });

  it.each(failures)('reports %s with its remedy', (...row) => expectFound(installation, 'failure', row));

  it.each(warnings)('warns of %s, with its remedy', (...row) => expectFound(installation, 'warning', row));
});
