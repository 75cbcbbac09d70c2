import { newPartner, newPatient, type Partner } from '../support/factories.js';
import { eventsUpTo } from '../support/events.js';
import { startHarness, type Harness } from '../support/harness.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { runJson, runProgram } from './runProgram.js';

let database: TestDatabase;
let environment: Record<string, string>;
let harness: Harness;
let partner: Partner;
beforeAll(async () => {
  database = await createTestDatabase();
  environment = { DATABASE_URL: database.url };
  harness = await startHarness({ databaseUrl: database.url });
  partner = await newPartner(harness);
});
afterAll(async () => {
  await harness.close();
  await database.drop();
});

describe('patient verify', () => {
  it('records the status with its event and audit row, and refuses to repeat it', async () => {
    const id = await newPatient(harness, partner);
    const verify = (...more: string[]) => ['patient', 'verify', id, '--tenant', partner.tenantId, ...more];
    const invited = await runJson(environment, ...verify('--status', 'INVITED'));
    expect(invited).toEqual({ userId: id, isVerified: 'INVITED' });
    expect(await runProgram(environment, ...verify())).toEqual({ code: 0, stdout: `${id} is VERIFIED.\n`, stderr: '' });
    const again = await runProgram(environment, ...verify());
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('VERIFIED')]);
    const events = (await eventsUpTo(harness, partner, 'patient.created')).filter(
      ({ type }) => type === 'patient.verification_updated',
    );
    expect(events.map(({ data }) => data)).toEqual(
      ['INVITED', 'VERIFIED'].map((isVerified) => ({ user_id: id, isVerified })),
    );
    const rows = await harness.domain.db.prisma.auditEvent.findMany({
      where: { tenantId: partner.tenantId, operationId: 'patient verify' },
    });
    expect(rows.map(({ tenantId, patientId, outcome }) => [tenantId, patientId, outcome])).toEqual([
      [partner.tenantId, id, 'success'],
      [partner.tenantId, id, 'success'],
      [partner.tenantId, id, 'failed'],
    ]);
  });

  it('exits with 2 for an id that is not a UUID', async () => {
    expect((await runProgram(environment, 'patient', 'verify', 'jane', '--tenant', partner.tenantId)).code).toBe(2);
  });
});
