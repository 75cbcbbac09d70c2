import { hostname } from 'node:os';
import { addCheckpoints } from '../../src/domain/audit/checkpoints.js';
import { newPartner, newPatient } from '../support/factories.js';
import { call } from '../support/http.js';
import { refusal, openOperator } from './operator.js';

const { harness, run, json } = await openOperator();
const partner = await newPartner(harness);
const patientId = await newPatient(harness, partner);
await call(harness, `GET /clients/${patientId}`, partner);

const span = ['--since', '2000-01-01', '--until', '2100-01-01'];

async function exported(...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await run('audit', 'export', ...span, ...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

it('commands that succeed or fail are each audited once with operator, host and tenant', async () => {
  const { tenantId } = partner;
  const { clientId: id } = await json('client', 'create', '--tenant', tenantId, '--preset', 'partner');
  await json('--as', 'bob', 'client', 'deactivate', id);
  expect((await run('order', 'cancel', 'ORD-999999', '--tenant', tenantId)).code).toBe(1);
  await json('tenant', 'create', 'Lakeside Health');
  await json('tenant', 'list');

  const ofCommands = (await exported()).filter(({ clientId }) => clientId === null);
  const commands = ofCommands.sort((one, other) => String(one['at']).localeCompare(String(other['at'])));
  const [alice, bob] = ['alice', 'bob'].map((name) => `${name}@${hostname()}`);
  expect(commands).toMatchObject([
    { operationId: 'client create', operator: alice, tenantId, resourceType: 'client', resourceId: id },
    { operationId: 'client deactivate', operator: bob, tenantId, resourceId: id },
    { operationId: 'order cancel', tenantId, resourceId: 'ORD-999999', outcome: 'failed' },
    { operationId: 'tenant create', tenantId: 'lakeside-health', resourceId: 'lakeside-health', outcome: 'success' },
    { operationId: 'tenant list', tenantId: null },
  ]);
});

it('audit verify reports intact chains, or exits with 1 and names the changed row of a tenant', async () => {
  const { tenantId } = partner;
  await addCheckpoints(harness.domain);
  const { checkpoints, rows, heads } = await json('audit', 'verify');
  expect([checkpoints, rows > 2]).toEqual([heads.length, true]);
  const latest: { tenantId: string; number: number; hash: string }[] = heads;
  const ofTenant = latest.find((head) => head.tenantId === tenantId);
  expect(ofTenant).toEqual({ tenantId, number: 1, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(latest.map((head) => head.tenantId)).toContain('-');
  const { prisma } = harness.domain.db;
  await prisma.$executeRaw`ALTER TABLE audit_event DISABLE TRIGGER USER`;
  await prisma.$executeRaw`UPDATE audit_event SET ip = '10.0.0.1' WHERE tenant_id = ${tenantId} AND position = 2`;
  const fault = `The audit failed its verification. ${tenantId}: Row 2 was changed. See scripts/production/retention.md#the-audit.\n`;
  expect(await run('audit', 'verify')).toEqual(refusal(1, fault));
});

it('audit export prints the rows of a tenant as JSON, or as AuditEvents of FHIR R4', async () => {
  await newPartner(harness);
  const rows = await exported('--tenant', partner.tenantId);
  expect(new Set(rows.map(({ tenantId }) => tenantId))).toEqual(new Set([partner.tenantId]));
  const read = rows.find(({ operationId }) => operationId === 'getPatient');
  expect(read).toMatchObject({ clientId: partner.clientId, patientIds: [patientId], status: 200, outcome: 'success' });
  const fhir = await exported('--tenant', partner.tenantId, '--format', 'fhir');
  const coding = (system: string, code: string, display: string) => {
    return { system: `http://terminology.hl7.org/CodeSystem/${system}`, code, display };
  };
  const identified = (kind: string, value: string) => {
    return { identifier: { system: `urn:clinical-encounter:${kind}`, value } };
  };
  const id = `${partner.tenantId}-${String(read?.['position'])}`;
  expect(fhir.find((event) => event['id'] === id)).toEqual({
    resourceType: 'AuditEvent',
    id,
    type: coding('audit-event-type', 'rest', 'RESTful Operation'),
    subtype: [{ system: 'urn:clinical-encounter:operation', code: 'getPatient' }],
    recorded: harness.clock.now.toISOString(),
    outcome: '0',
    agent: [
      {
        who: identified('client', partner.clientId),
        requestor: true,
        network: { address: '127.0.0.1', type: '2' },
      },
    ],
    source: { observer: identified('tenant', partner.tenantId) },
    entity: [
      {
        what: { reference: `Patient/${patientId}` },
        type: coding('audit-entity-type', '1', 'Person'),
        role: coding('object-role', '1', 'Patient'),
      },
    ],
  });
});

it.each(['yesterday', '2026-02-30', '2026-11-01T06:00:00'])('audit export refuses %s as a time', async (time) => {
  const misused = await run('audit', 'export', '--since', time, '--until', '2100-01-01');
  expect([misused.code, misused.stderr]).toEqual([2, expect.stringContaining('Give a date or a time with its zone')]);
});
