import { hostname } from 'node:os';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { newPartner, newPatient, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { runJson, runProgram } from './runProgram.js';

let database: TestDatabase;
let environment: Record<string, string>;
let harness: Harness;
let partner: Partner;
let patientId: string;
beforeAll(async () => {
  database = await createTestDatabase();
  environment = { DATABASE_URL: database.url, USER: 'alice' };
  harness = await startHarness({ databaseUrl: database.url });
  partner = await newPartner(harness);
  patientId = await newPatient(harness, partner);
  await call(harness, `GET /clients/${patientId}`, partner);
});
afterAll(async () => {
  await harness.close();
  await database.drop();
});

const span = ['--since', '2000-01-01', '--until', '2100-01-01'];

async function exported(...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await runProgram(environment, 'audit', 'export', ...span, ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

it('every command is audited once with its operator, host and tenant', async () => {
  const created = (await runJson(
    environment,
    'client',
    'create',
    '--tenant',
    partner.tenantId,
    '--preset',
    'partner',
  )) as {
    clientId: string;
  };
  await runJson(environment, '--as', 'bob', 'client', 'deactivate', created.clientId);
  expect((await runProgram(environment, 'order', 'cancel', 'ORD-999999', '--tenant', partner.tenantId)).code).toBe(1);
  await runJson(environment, 'tenant', 'create', 'Lakeside Health');
  await runJson(environment, 'tenant', 'list');

  const commands = (await exported()).filter(({ clientId }) => clientId === null);
  const { tenantId } = partner;
  const host = hostname();
  expect(commands).toMatchObject([
    {
      operationId: 'client create',
      operator: `alice@${host}`,
      tenantId,
      resourceType: 'client',
      resourceId: created.clientId,
    },
    { operationId: 'client deactivate', operator: `bob@${host}`, tenantId, resourceId: created.clientId },
    { operationId: 'order cancel', tenantId, resourceId: 'ORD-999999', outcome: 'failed' },
    { operationId: 'tenant create', tenantId: 'lakeside-health', resourceId: 'lakeside-health', outcome: 'success' },
    { operationId: 'tenant list', tenantId: null },
  ]);
});

it('audit verify reports an intact chain, or exits with 1 and names the changed row', async () => {
  await addCheckpoints(harness.domain);
  const { checkpoints, rows, head } = (await runJson(environment, 'audit', 'verify')) as Record<string, unknown>;
  expect({ checkpoints, head }).toEqual({
    checkpoints: 1,
    head: { number: 1, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  expect(rows).toBeGreaterThan(2);
  const { number, hash } = head as { number: number; hash: string };
  const expecting = (...args: string[]) => runProgram(environment, 'audit', 'verify', '--expect', ...args);
  expect(await expecting(String(number), hash)).toMatchObject({ code: 0 });
  expect(await expecting(String(number), hash.replace(/^./, hash.startsWith('0') ? '1' : '0'))).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'The audit is not as it was sealed. The hash of checkpoint 1 is not the one that --expect names.\n',
  });
  for (const wrong of [['1'], [hash, '1'], ['1', hash, 'x']]) expect((await expecting(...wrong)).code).toBe(2);
  for (const sql of [
    'ALTER TABLE audit_event DISABLE TRIGGER USER',
    `UPDATE audit_event SET ip = '10.0.0.1' WHERE position = 2`,
  ]) {
    await harness.domain.db.prisma.$executeRawUnsafe(sql);
  }
  expect(await runProgram(environment, 'audit', 'verify')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'The audit is not as it was sealed. Row 2 was changed.\n',
  });
});

it('audit export prints the rows of a period and a tenant as JSON or as AuditEvents of FHIR R4', async () => {
  await newPartner(harness);
  const rows = await exported('--tenant', partner.tenantId);
  expect(new Set(rows.map(({ tenantId }) => tenantId))).toEqual(new Set([partner.tenantId]));
  const read = rows.find(({ operationId }) => operationId === 'getPatient');
  expect(read).toMatchObject({ clientId: partner.clientId, patientId, status: 200, outcome: 'success' });
  const fhir = await exported('--tenant', partner.tenantId, '--format', 'fhir');
  expect(fhir.find(({ id }) => id === String(read?.['position']))).toEqual({
    resourceType: 'AuditEvent',
    id: String(read?.['position']),
    type: {
      system: 'http://terminology.hl7.org/CodeSystem/audit-event-type',
      code: 'rest',
      display: 'RESTful Operation',
    },
    subtype: [{ system: 'urn:clinical-encounter:operation', code: 'getPatient' }],
    recorded: harness.clock.now.toISOString(),
    outcome: '0',
    agent: [
      {
        who: { identifier: { system: 'urn:clinical-encounter:client', value: partner.clientId } },
        requestor: true,
        network: { address: '127.0.0.1', type: '2' },
      },
    ],
    source: { observer: { identifier: { system: 'urn:clinical-encounter:tenant', value: partner.tenantId } } },
    entity: [
      {
        what: { reference: `Patient/${patientId}` },
        type: {
          system: 'http://terminology.hl7.org/CodeSystem/audit-entity-type',
          code: '1',
          display: 'Person',
        },
        role: { system: 'http://terminology.hl7.org/CodeSystem/object-role', code: '1', display: 'Patient' },
      },
    ],
  });
  const misused = await runProgram(environment, 'audit', 'export', '--since', 'yesterday', '--until', '2100-01-01');
  expect(misused.code).toBe(2);
});
