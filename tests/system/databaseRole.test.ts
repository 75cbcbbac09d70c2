import { Client } from 'pg';
import { openDatabase } from '../../src/adapters/database/database.js';
import { sqlState } from '../../src/adapters/database/databaseErrors.js';
import { grantServiceRights } from '../../src/adapters/database/serviceRole.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { openEmbeddedPostgres } from '../../src/embedded/embeddedPostgres.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { migrateDatabase } from '../../src/runtime/serviceDatabase.js';
import { rowsOf } from '../support/migrations.js';
import { createEmptyDatabase, createTestDatabase, temporaryDataDir, type TestDatabase } from '../support/postgres.js';
import { killServers, startServer } from '../support/serverProcess.js';
import { runJson, runProgram } from '../cli/runProgram.js';

const databases: TestDatabase[] = [];
const clients: Client[] = [];
afterEach(async () => {
  await killServers();
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await Promise.all(databases.splice(0).map(({ drop }) => drop()));
});

async function make(create: () => Promise<TestDatabase>): Promise<TestDatabase> {
  const database = await create();
  databases.push(database);
  return database;
}

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  clients.push(client);
  await client.connect();
  return client;
}

/** PostgreSQL's code of each refusal, by statement. */
async function refusals(client: Client, statements: readonly string[]): Promise<Record<string, unknown>> {
  const codes: Record<string, unknown> = {};
  for (const statement of statements) {
    codes[statement] = await client.query(statement).then(
      () => 'done',
      (error: unknown) => sqlState(error),
    );
  }
  return codes;
}

const INSUFFICIENT_PRIVILEGE = '42501';

it('PostgreSQL refuses the service’s role every change of the schema, of its own rights and of the record of migrations', async () => {
  const { serviceUrl } = await make(createTestDatabase);
  const statements = [
    'CREATE TABLE stray ()',
    'CREATE SCHEMA stray',
    'ALTER TABLE client ADD COLUMN stray TEXT',
    'DROP TABLE client',
    'TRUNCATE event',
    'DROP INDEX client_pkey',
    'CREATE INDEX ON client (id)',
    'ALTER TABLE client DISABLE TRIGGER ALL',
    'ALTER TABLE graphile_worker._private_jobs ADD COLUMN stray TEXT',
    'DELETE FROM _prisma_migrations',
    'UPDATE graphile_worker.migrations SET id = id',
    'CREATE ROLE stray',
    'SET log_parameter_max_length = 100',
    'SET session_replication_role = replica',
    `COPY client TO PROGRAM 'true'`,
  ];
  expect(await refusals(await connect(serviceUrl), statements)).toEqual(
    Object.fromEntries(statements.map((statement) => [statement, INSUFFICIENT_PRIVILEGE])),
  );
});

it('what is in the audit can be added to and read by the service’s role, and neither changed nor deleted', async () => {
  const { url, serviceUrl } = await make(createTestDatabase);
  const owner = await connect(url);
  for (const table of ['audit_event', 'audit_seal']) await owner.query(`CREATE TABLE IF NOT EXISTS ${table} ()`);
  // Somebody granted too much.
  await owner.query(`GRANT ALL ON audit_event, audit_seal TO ces_test_service`);
  await grantServiceRights(url, serviceUrl);
  const service = await connect(serviceUrl);
  for (const table of ['audit_event', 'audit_seal']) {
    const { rows } = await service.query<{ privilege: string; held: boolean }>(
      `SELECT privilege, has_table_privilege('${table}', privilege) AS held
       FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS privilege`,
    );
    expect(rows.flatMap(({ privilege, held }) => (held ? [privilege] : []))).toEqual(['SELECT', 'INSERT']);
    const changes = [`DELETE FROM ${table}`, `TRUNCATE ${table}`];
    expect(Object.values(await refusals(service, changes))).toEqual(changes.map(() => INSUFFICIENT_PRIVILEGE));
  }
});

const BYTES = `'\\x00'::bytea`;
const checkpoint = (removes: string): string =>
  `INSERT INTO audit_seal (number, through, removes, digests, hash, sealed_at) VALUES (9, 0, ${removes}, ${BYTES}, ${BYTES}, now())`;

it('the service’s role removes nothing from the audit, nor forges a checkpoint by which something was removed', async () => {
  const { serviceUrl } = await make(createTestDatabase);
  const service = await connect(serviceUrl);
  await service.query(
    `INSERT INTO audit_event (at, operation_id, outcome) VALUES (now() - interval '9 years', 'getPatient', 'success')`,
  );
  await service.query(checkpoint('NULL').replace('(9,', '(1,'));
  // What somebody who controls the service would prepare first, in vain.
  await service.query(`CREATE TEMP TABLE audit_seal AS SELECT 9::bigint AS removes, 9::bigint AS through, 9 AS number`);
  for (const prepare of [
    `SET audit.retention = 'on'`,
    'SET search_path = pg_temp, public, pg_catalog',
    'SET search_path = public',
  ]) {
    await service.query(prepare);
    const attempts = [
      checkpoint('1').replace('audit_seal', 'public.audit_seal'),
      'DELETE FROM public.audit_event',
      'DELETE FROM public.audit_seal',
      `UPDATE public.audit_seal SET removes = 1`,
    ];
    expect(Object.values(await refusals(service, attempts))).toEqual(attempts.map(() => INSUFFICIENT_PRIVILEGE));
  }
  const { rows } =
    await service.query(`SELECT proname AS name FROM pg_proc JOIN pg_namespace ON pronamespace = pg_namespace.oid
    WHERE nspname = 'public' AND prosecdef AND has_function_privilege(pg_proc.oid, 'EXECUTE') ORDER BY 1`);
  // A function of the owner's is what a role without rights would remove rows by. This one reads.
  expect(rows).toEqual([{ name: 'audit_horizon' }]);
});

it('audit purge removes as the owner, not as the service’s role, and is itself in the audit', async () => {
  const { url, serviceUrl } = await make(createTestDatabase);
  await runJson({ DATABASE_URL: serviceUrl }, 'tenant', 'list');
  await rowsOf(
    serviceUrl,
    `INSERT INTO audit_event (at, operation_id, outcome) VALUES (now(), 'getPatient', 'success')`,
  );
  const db = openDatabase(serviceUrl);
  const sealedAt = new Date(Date.now() - 2_193 * 86_400_000);
  await addCheckpoints({ ...systemContext(db), now: () => sealedAt });
  await db.close();

  const alone = await runProgram({ DATABASE_URL: serviceUrl }, 'audit', 'purge');
  expect(alone).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('give DATABASE_OWNER_URL') });
  const split = { DATABASE_URL: serviceUrl, DATABASE_OWNER_URL: url };
  expect(await runJson(split, 'audit', 'purge', '--keep-days', '2194')).toEqual({ removed: 0 });
  expect(await runJson(split, 'audit', 'purge')).toEqual({ removed: 2 });
  expect(await runJson(split, 'audit', 'verify')).toMatchObject({ checkpoints: 2, rows: 0 });
  expect(await rowsOf(url, 'SELECT operation_id AS name, outcome FROM audit_event ORDER BY position')).toEqual([
    { name: 'audit purge', outcome: 'failed' },
    { name: 'audit purge', outcome: 'success' },
    { name: 'audit purge', outcome: 'success' },
    { name: 'audit verify', outcome: 'success' },
  ]);
});

it('migrate applies as DATABASE_OWNER_URL and grants to the role of DATABASE_URL, which cannot migrate by itself', async () => {
  const { url, serviceUrl } = await make(createEmptyDatabase);
  const alone = await runProgram({ DATABASE_URL: serviceUrl }, 'migrate');
  expect(alone).toMatchObject({ code: 1, stderr: expect.stringContaining('permission denied for schema public') });

  // The schema as it was left by one role for everything.
  await runJson({ DATABASE_URL: url }, 'migrate');
  const refused = await runProgram({ DATABASE_URL: serviceUrl }, 'tenant', 'list');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/permission denied.*DATABASE_OWNER_URL/) });

  const split = { DATABASE_URL: serviceUrl, DATABASE_OWNER_URL: url };
  expect(await runJson(split, 'migrate')).toEqual({ applied: [] });
  await runJson({ DATABASE_URL: serviceUrl }, 'tenant', 'create', 'Lakeside Health');
  expect(await runJson({ DATABASE_URL: serviceUrl }, 'tenant', 'list')).toMatchObject([{ id: 'lakeside-health' }]);
});

it('the embedded database is served to a role that is no superuser, also one that an older build made', async () => {
  const { dataDir, remove } = await temporaryDataDir();
  try {
    const older = await openEmbeddedPostgres({ dataDir, role: 'tool', log: () => {} });
    await migrateDatabase({ ownerUrl: older.url, url: older.url });
    await rowsOf(older.url, 'DROP ROLE clinical_encounter_service');
    await older.close();
    const server = startServer({ DATA_DIR: dataDir });
    await server.started;
    const beside = await openEmbeddedPostgres({ dataDir, role: 'tool', log: () => {} });
    const sessions = await rowsOf(
      beside.url,
      `SELECT DISTINCT usename AS role, rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls AS is_powerful
       FROM pg_stat_activity JOIN pg_roles ON rolname = usename
       WHERE application_name IN ('clinical-encounter-service', 'clinical-encounter-jobs')`,
    );
    expect(sessions).toEqual([{ role: 'clinical_encounter_service', is_powerful: false }]);
    await beside.close();
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
  } finally {
    await remove();
  }
});

it('a role that is not there is named', async () => {
  const { url } = await make(createEmptyDatabase);
  const nobody = Object.assign(new URL(url), { username: 'nobody_there' }).href;
  const environment = { DATABASE_URL: nobody, DATABASE_OWNER_URL: url };
  expect(await runProgram(environment, 'migrate')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('role "nobody_there" does not exist'),
  });
});
