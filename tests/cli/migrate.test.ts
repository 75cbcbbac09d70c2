import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { migrations, namesOf, rowsOf } from '../support/migrations.js';
import { refusal } from './operator.js';
import { runJson, runProgram } from './runProgram.js';

const databases: TestDatabase[] = [];
afterEach(() => Promise.all(databases.splice(0).map(({ drop }) => drop())));

async function environmentOf(create: () => Promise<TestDatabase>): Promise<{ DATABASE_URL: string }> {
  const database = await create();
  databases.push(database);
  return { DATABASE_URL: database.url };
}

const SILENT = { DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/none' };

it('migrate lists pending migrations with --status, applies them, and then reports an up-to-date schema', async () => {
  const environment = await environmentOf(createEmptyDatabase);
  const status = () => runProgram(environment, 'migrate', '--status', '--json');
  const before = await status();
  expect(before).toEqual({
    code: 1,
    stdout: expect.any(String),
    stderr: '{"error":{"message":"Migrations are pending. Run \\"ces migrate\\"."}}\n',
  });
  const { pending }: { pending: string[] } = JSON.parse(before.stdout);
  expect(pending).toEqual(namesOf(migrations));
  expect(await status()).toEqual(before);
  expect(await runProgram(environment, 'migrate', '--status')).toEqual({
    ...before,
    stdout: pending.map((name) => `Pending ${name}\n`).join(''),
    stderr: 'Migrations are pending. Run "ces migrate".\n',
  });

  expect(await runJson(environment, 'migrate')).toEqual({ applied: pending });
  expect(await status()).toEqual({ code: 0, stdout: '{\n  "pending": []\n}\n', stderr: '' });
  const done = { code: 0, stdout: 'The schema lacks no migration of this build.\n', stderr: '' };
  expect(await runProgram(environment, 'migrate')).toEqual(done);
  expect(await runProgram(environment, 'migrate', '--status')).toEqual(done);
  const row = { name: 'migrate', tenant_id: '-', resource_type: null, outcome: 'success' };
  const audited = 'SELECT operation_id AS name, tenant_id, resource_type, outcome FROM audit_event ORDER BY position';
  expect(await rowsOf(environment.DATABASE_URL, audited)).toEqual([row, row]);
});

it('migrate --plan states how each pending migration runs and what it locks, and applies none', async () => {
  const environment = await environmentOf(createEmptyDatabase);
  const { plan }: { plan: { migration: string }[] } = await runJson(environment, 'migrate', '--plan');
  expect(plan[0]).toEqual({ migration: migrations[0]?.name, runs: 'in a transaction', locks: [] });

  const { stdout } = await runProgram(environment, 'migrate', '--plan');
  expect(stdout).toMatch(/^\d+_initial +in a transaction +none$/m);
  const { stdout: pending } = await runProgram(environment, 'migrate', '--status', '--json');
  expect(JSON.parse(pending)).toEqual({ pending: plan.map(({ migration }) => migration) });
});

it('migrate accepts a newer schema that this build supports, and refuses an unsupported schema or a database that is down', async () => {
  const environment = await environmentOf(createTestDatabase);
  const later = `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
    VALUES ('1', 'x', '29991231000000_future', now())`;
  await rowsOf(environment.DATABASE_URL, later);
  expect(await runProgram(environment, 'migrate', '--status')).toEqual({
    code: 0,
    stdout: 'The schema lacks no migration of this build.\n',
    stderr:
      'The database is newer than this build, which still supports it. Later migrations: 29991231000000_future.\n',
  });
  expect(await runJson(environment, 'migrate')).toEqual({ applied: [] });
  const incompatible = `CREATE OR REPLACE FUNCTION oldest_generation() RETURNS INTEGER LANGUAGE sql AS 'SELECT 1000'`;
  await rowsOf(environment.DATABASE_URL, incompatible);
  for (const args of [['migrate'], ['migrate', '--status']]) {
    expect(await runProgram(environment, ...args)).toEqual(refusal(1, /29991231000000_future/));
    const silent = await runProgram(SILENT, ...args);
    expect(silent).toEqual(refusal(1, /cannot do this now/));
    expect(silent.stderr).not.toContain('hunter2');
  }
});

it('a command refuses a database whose schema is behind or that does not answer, and a malformed DATABASE_URL', async () => {
  const list = (environment: Record<string, string>) => runProgram(environment, 'tenant', 'list');
  const behind = await environmentOf(createEmptyDatabase);
  expect(await list(behind)).toEqual(refusal(1, /^[^\n]*Run "scripts\/ces migrate"[^\n]*\n$/));
  expect(await list(SILENT)).toEqual(refusal(1, /^(?!.*hunter2)[^\n]*cannot be used now[^\n]*\n$/));
  expect(await list({ DATABASE_URL: 'mysql://x' })).toEqual(refusal(1, /^[^\n]*DATABASE_URL[^\n]*\n$/));
});
