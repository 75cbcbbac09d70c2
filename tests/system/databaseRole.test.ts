import { Client } from 'pg';
import { pino } from 'pino';
import { openDatabase } from '../../src/adapters/database/database.js';
import { sqlState } from '../../src/adapters/database/databaseErrors.js';
import { grantServiceRights } from '../../src/adapters/database/serviceRole.js';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { auditRecorder } from '../../src/domain/audit/recorder.js';
import { systemContext } from '../../src/runtime/systemContext.js';
import { dropDatabases, opened, rowsOf } from '../support/migrations.js';
import { createEmptyDatabase, createTestDatabase } from '../support/postgres.js';
import { auditRow } from '../domain/audit/auditRow.js';
import { refusal } from '../cli/operator.js';
import { runJson, runProgram } from '../cli/runProgram.js';

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await dropDatabases();
});

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  clients.push(client);
  await client.connect();
  return client;
}

/** Expects that PostgreSQL denies every statement. */
async function expectDenied(client: Client, statements: readonly string[]): Promise<void> {
  const codes = [];
  for (const statement of statements) {
    const attempt = client.query(statement).then(() => 'done');
    codes.push([statement, await attempt.catch((error: unknown) => sqlState(error))]);
  }
  // insufficient_privilege
  expect(codes).toEqual(statements.map((statement) => [statement, '42501']));
}

it('the service role cannot change the schema, roles, protected settings or the record of migrations, nor run programs', async () => {
  const { serviceUrl } = await opened(createTestDatabase);
  const statements = [
    'CREATE TABLE stray ()',
    'CREATE SCHEMA stray',
    'ALTER TABLE client ADD COLUMN stray TEXT',
    'DROP TABLE client',
    'TRUNCATE event',
    'DROP INDEX client_pkey',
    'CREATE INDEX ON client (id)',
    'ALTER TABLE client DISABLE TRIGGER ALL',
    'DELETE FROM _prisma_migrations',
    'CREATE ROLE stray',
    'SET log_parameter_max_length = 100',
    'SET session_replication_role = replica',
    `COPY client TO PROGRAM 'true'`,
  ];
  await expectDenied(await connect(serviceUrl), statements);
});

it.each([
  ['INSERT', 'audit_seal'],
  ['UPDATE', 'client'],
  ['DELETE', 'event'],
])('grantServiceRights grants a missing %s on %s again', async (right, table) => {
  const { url, serviceUrl } = await opened(createTestDatabase);
  await rowsOf(url, `REVOKE ${right} ON ${table} FROM ces_test_service`);
  await grantServiceRights(url, serviceUrl);
  const granted = await rowsOf(serviceUrl, `SELECT has_table_privilege('${table}', '${right}') AS has`);
  expect(granted).toEqual([{ has: true }]);
});

it('the service role can insert and read audit rows, but neither change nor delete them', async () => {
  const { url, serviceUrl } = await opened(createTestDatabase);
  const owner = await connect(url);
  for (const table of ['audit_event', 'audit_seal']) await owner.query(`CREATE TABLE IF NOT EXISTS ${table} ()`);
  // Excessive rights, which the next grant must revoke.
  await owner.query(`GRANT ALL ON audit_event, audit_seal TO ces_test_service`);
  await grantServiceRights(url, serviceUrl);
  const service = await connect(serviceUrl);
  for (const table of ['audit_event', 'audit_seal']) {
    const { rows } = await service.query<{ privilege: string; held: boolean }>(
      `SELECT privilege, has_table_privilege('${table}', privilege) AS held
       FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS privilege`,
    );
    expect(rows.flatMap(({ privilege, held }) => (held ? [privilege] : []))).toEqual(['SELECT', 'INSERT']);
    await expectDenied(service, [`DELETE FROM ${table}`, `TRUNCATE ${table}`]);
  }
});

const BYTES = `'\\x00'::bytea`;
const checkpoint = (removes: string): string =>
  `INSERT INTO audit_seal (tenant_id, number, through, removes, digests, hash, sealed_at)
     VALUES ('-', 9, 0, ${removes}, ${BYTES}, ${BYTES}, now())`;

it('the service role can neither remove audit rows nor forge a checkpoint that removes them', async () => {
  const { serviceUrl } = await opened(createTestDatabase);
  const service = await connect(serviceUrl);
  await service.query(
    `INSERT INTO audit_event (tenant_id, position, at, operation_id, outcome)
       VALUES ('-', 1, now() - interval '9 years', 'getPatient', 'success')`,
  );
  await service.query(checkpoint('NULL').replace(' 9,', ' 1,'));
  // An attacker who controls the service would shadow the table and change the settings.
  await service.query(`CREATE TEMP TABLE audit_seal AS SELECT 9::bigint AS removes, 9::bigint AS through, 9 AS number`);
  for (const prepare of [
    `SET audit.retention = 'on'`,
    'SET search_path = pg_temp, public, pg_catalog',
    'SET search_path = public',
  ]) {
    await service.query(prepare);
    await expectDenied(service, [
      checkpoint('1').replace('audit_seal', 'public.audit_seal'),
      'DELETE FROM public.audit_event',
      'DELETE FROM public.audit_seal',
      `UPDATE public.audit_seal SET removes = 1`,
    ]);
  }
  const { rows } =
    await service.query(`SELECT proname AS name FROM pg_proc JOIN pg_namespace ON pronamespace = pg_namespace.oid
    WHERE nspname = 'public' AND prosecdef AND has_function_privilege(pg_proc.oid, 'EXECUTE') ORDER BY 1`);
  // A SECURITY DEFINER function could remove rows with the owner's rights.
  expect(rows).toEqual([]);
});

it('audit purge removes rows with DATABASE_OWNER_URL only, and is itself audited', async () => {
  const { url, serviceUrl } = await opened(createTestDatabase);
  await runJson({ DATABASE_URL: serviceUrl }, 'tenant', 'list');
  const db = openDatabase(serviceUrl);
  await auditRecorder({ db })(auditRow({ at: new Date() }));
  const sealedAt = new Date(Date.now() - 2_193 * 86_400_000);
  await addCheckpoints({ ...systemContext(db), now: () => sealedAt, log: pino({ enabled: false }) });
  await db.close();

  const alone = await runProgram({ DATABASE_URL: serviceUrl }, 'audit', 'purge');
  expect(alone).toEqual(refusal(1, /Set DATABASE_OWNER_URL/));
  const split = { DATABASE_URL: serviceUrl, DATABASE_OWNER_URL: url };
  expect(await runJson(split, 'audit', 'purge', '--keep-days', '2194')).toEqual({ removed: 0 });
  expect(await runJson(split, 'audit', 'purge')).toEqual({ removed: 2 });
  expect(await runJson(split, 'audit', 'verify')).toMatchObject({ checkpoints: 4, rows: 0 });
  expect(await rowsOf(url, 'SELECT operation_id AS name, outcome FROM audit_event ORDER BY position')).toEqual([
    { name: 'audit purge', outcome: 'failed' },
    { name: 'audit purge', outcome: 'success' },
    { name: 'audit purge', outcome: 'success' },
    { name: 'audit verify', outcome: 'success' },
  ]);
});

it('migrate runs as the role of DATABASE_OWNER_URL and grants rights to the role of DATABASE_URL, which cannot migrate', async () => {
  const { url, serviceUrl } = await opened(createEmptyDatabase);
  const alone = { DATABASE_URL: serviceUrl };
  expect(await runProgram(alone, 'migrate')).toEqual(refusal(1, /permission denied for schema public/));

  // A deployment with a single role leaves the schema like this.
  await runJson({ DATABASE_URL: url }, 'migrate');
  const denied = /permission denied.*DATABASE_OWNER_URL/;
  expect(await runProgram(alone, 'tenant', 'list')).toEqual(refusal(1, denied));

  const split = { ...alone, DATABASE_OWNER_URL: url };
  expect(await runJson(split, 'migrate')).toEqual({ applied: [] });
  await runJson(alone, 'tenant', 'create', 'Lakeside Health');
  expect(await runJson(alone, 'tenant', 'list')).toMatchObject([{ id: 'lakeside-health' }]);
});

it('migrate fails when the role of DATABASE_URL does not exist, and names it', async () => {
  const { url } = await opened(createEmptyDatabase);
  const unknown = Object.assign(new URL(url), { username: 'missing_role' }).href;
  const environment = { DATABASE_URL: unknown, DATABASE_OWNER_URL: url };
  const refused = await runProgram(environment, 'migrate');
  expect(refused).toEqual(refusal(1, /role "missing_role" does not exist/));
});
