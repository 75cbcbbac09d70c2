import { eventsUpTo } from '../support/events.js';
import { newPartner, newPatient, type Partner } from '../support/factories.js';
import { startHarness, type Harness } from '../support/harness.js';
import { call } from '../support/http.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { hookUrl, newEndpoint } from '../support/webhooks.js';
import { runJson, runProgram } from './runProgram.js';

let database: TestDatabase;
let environment: Record<string, string>;
let harness: Harness;
let partner: Partner;
let id: string;
beforeAll(async () => {
  database = await createTestDatabase();
  environment = { DATABASE_URL: database.url };
  harness = await startHarness({ databaseUrl: database.url });
});
beforeEach(async () => {
  partner = await newPartner(harness);
  ({ id } = await newEndpoint(harness, partner));
});
afterAll(async () => {
  await harness.close();
  await database.drop();
});

const command = (name: string, ...more: string[]) => ['webhook', name, '--tenant', partner.tenantId, ...more];
const audited = async () => {
  const where = { tenantId: partner.tenantId, operationId: { startsWith: 'webhook ' } };
  const rows = await harness.domain.db.prisma.auditEvent.findMany({ where, orderBy: { position: 'asc' } });
  return rows.map(({ operationId, resourceType, resourceId, outcome }) => [
    operationId,
    resourceType,
    resourceId,
    outcome,
  ]);
};

describe('webhook list', () => {
  it('prints the endpoints of a tenant with their URL and client, but no secret', async () => {
    const listed = await runJson(environment, ...command('list'));
    expect(listed).toEqual([
      expect.objectContaining({ id, clientId: partner.clientId, url: hookUrl, status: 'active' }),
    ]);
    expect(JSON.stringify(listed)).not.toMatch(/secret/i);
    const { code, stdout } = await runProgram(environment, ...command('list'));
    expect([code, stdout.split('\n')[1]]).toEqual([
      0,
      `${id}  ${partner.clientId}  active  never         never         ${hookUrl}`,
    ]);
  });
});

describe('webhook disable', () => {
  it('disables an endpoint with one event, audits each attempt, and refuses an endpoint of another tenant', async () => {
    for (let times = 0; times < 2; times += 1) {
      const shown = await runJson(environment, ...command('disable', '--endpoint', id.toUpperCase()));
      expect(shown).toEqual({ id, status: 'disabled' });
    }
    const { body } = await call(harness, `GET /webhook-endpoints/${id}`, { token: partner.token });
    expect(body).toMatchObject({ status: 'disabled', disabledReason: 'operator' });
    const [event, ...others] = await eventsUpTo(harness, partner, 'webhook.disabled');
    expect([event?.data, others]).toEqual([{ endpoint_id: id, reason: 'operator' }, []]);
    const foreign = await newEndpoint(harness, await newPartner(harness));
    const refused = await runProgram(environment, ...command('disable', '--endpoint', foreign.id));
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `The tenant ${partner.tenantId} has no webhook endpoint ${foreign.id}: see "webhook list".\n`,
    ]);
    expect(await audited()).toEqual([
      ['webhook disable', 'webhook', id, 'success'],
      ['webhook disable', 'webhook', id, 'success'],
      ['webhook disable', 'webhook', foreign.id, 'failed'],
    ]);
  });
});

describe('webhook replay', () => {
  it('sends the events of a period again, and refuses a disabled endpoint', async () => {
    await newPatient(harness, partner);
    const replay = (...times: string[]) => runProgram(environment, ...command('replay', '--endpoint', id, ...times));
    expect(await replay('--after', '2026-01-01')).toMatchObject({
      code: 0,
      stdout: `Events on their way to ${id}: 1.\n`,
    });
    const before = await runJson(
      environment,
      ...command('replay', '--endpoint', id, '--after', '2026-01-01', '--before', '2026-01-02'),
    );
    expect(before).toEqual({ id, deliveries: 0 });
    const where = { tenantId: partner.tenantId, endpointId: id, status: 'waiting' } as const;
    expect(await harness.domain.db.prisma.webhookDelivery.count({ where })).toBe(1);
    await runJson(environment, ...command('disable', '--endpoint', id));
    const refused = await replay('--after', '2026-01-01');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `The webhook endpoint ${id} is disabled: its partner enables it.\n`,
    ]);
    for (const wrong of [
      ['--endpoint', '1', '--after', '2026-01-01'],
      ['--endpoint', id],
      ['--endpoint', id, '--after', 'now'],
    ]) {
      expect((await runProgram(environment, ...command('replay', ...wrong))).code).toBe(2);
    }
  });
});
