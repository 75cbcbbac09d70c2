import { makeDeliveries } from '../../src/domain/webhooks/fanOut.js';
import { eventsUpTo } from '../support/events.js';
import { newPartner, newPatient, type Partner } from '../support/factories.js';
import { call } from '../support/http.js';
import { hookUrl, newEndpoint } from '../support/webhooks.js';
import { refusal, openOperator } from './operator.js';

const { harness, run, json } = await openOperator();
let partner: Partner;
let id: string;
beforeEach(async () => {
  partner = await newPartner(harness);
  ({ id } = await newEndpoint(harness, partner));
});

const command = (name: string, ...more: string[]) => ['webhook', name, '--tenant', partner.tenantId, ...more];
const audited = async () => {
  const where = { tenantId: partner.tenantId, operationId: { startsWith: 'webhook ' } };
  const rows = await harness.domain.db.prisma.auditEvent.findMany({ where, orderBy: { position: 'asc' } });
  return rows.map((row) => [row.operationId, row.resourceType, row.resourceId, row.outcome]);
};

describe('webhook list', () => {
  it('prints the endpoints of a tenant with their URL and client, but no secret', async () => {
    const listed = await json(...command('list'));
    expect(listed).toMatchObject([{ id, clientId: partner.clientId, url: hookUrl, status: 'active' }]);
    expect(JSON.stringify(listed)).not.toMatch(/secret/i);
    const { stdout } = await run(...command('list'));
    expect(stdout.split('\n')[1]).toBe(`${id}  ${partner.clientId}  active  never         never         ${hookUrl}`);
  });
});

describe('webhook disable', () => {
  it('disables an endpoint with one event, audits each attempt, and refuses an endpoint of another tenant', async () => {
    for (let times = 0; times < 2; times += 1) {
      const shown = await json(...command('disable', '--endpoint', id.toUpperCase()));
      expect(shown).toEqual({ id, status: 'disabled' });
    }
    const { body } = await call(harness, `GET /webhook-endpoints/${id}`, { token: partner.token });
    expect(body).toMatchObject({ status: 'disabled', disabledReason: 'operator' });
    const [event, ...others] = await eventsUpTo(harness, partner, 'webhook.disabled');
    expect([event?.data, others]).toEqual([{ endpoint_id: id, reason: 'operator' }, []]);
    const foreign = await newEndpoint(harness, await newPartner(harness));
    const message = `The tenant ${partner.tenantId} has no webhook endpoint ${foreign.id}: see "webhook list".\n`;
    expect(await run(...command('disable', '--endpoint', foreign.id))).toEqual(refusal(1, message));
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
    const replay = (...times: string[]) => run(...command('replay', '--endpoint', id, ...times));
    const stdout = `Events to deliver to ${id}: 1.\n`;
    expect(await replay('--after', '2026-01-01')).toMatchObject({ code: 0, stdout });
    const earlier = ['--endpoint', id, '--after', '2026-01-01', '--before', '2026-01-02'];
    expect(await json(...command('replay', ...earlier))).toEqual({ id, deliveries: 0 });
    const where = { tenantId: partner.tenantId, endpointId: id, status: 'waiting' } as const;
    expect(await harness.domain.db.prisma.webhookDelivery.count({ where })).toBe(1);
    await json(...command('disable', '--endpoint', id));
    const message = `The webhook endpoint ${id} is disabled. Enable it first: see "webhook enable".\n`;
    expect(await replay('--after', '2026-01-01')).toEqual(refusal(1, message));
    for (const wrong of [
      ['--endpoint', '1', '--after', '2026-01-01'],
      ['--endpoint', id],
      ['--endpoint', id, '--after', 'now'],
    ]) {
      expect((await run(...command('replay', ...wrong))).code).toBe(2);
    }
  });
});

describe('webhook enable, deliveries and retry', () => {
  it('enable a disabled endpoint, and refuse an endpoint of another tenant', async () => {
    await json(...command('disable', '--endpoint', id));
    expect(await json(...command('enable', '--endpoint', id))).toEqual({ id, status: 'active' });
    const { body } = await call(harness, `GET /webhook-endpoints/${id}`, { token: partner.token });
    expect(body).toMatchObject({ status: 'active', disabledReason: null });
    const foreign = (await newEndpoint(harness, await newPartner(harness))).id;
    for (const name of ['enable', 'deliveries']) {
      expect(await run(...command(name, '--endpoint', foreign))).toEqual(refusal(1, /webhook endpoint/));
    }
  });

  it('list the deliveries of an endpoint, and retry sends one of them again', async () => {
    await newPatient(harness, partner);
    while (await makeDeliveries(harness.services));
    const list = (...more: string[]) => json(...command('deliveries', '--endpoint', id, ...more));
    const [delivery, ...others] = await list();
    expect([delivery, others]).toMatchObject([{ type: 'patient.created', status: 'waiting', attempts: 0 }, []]);
    await harness.domain.db.prisma
      .$executeRaw`UPDATE webhook_delivery SET status = 'failed', next_attempt_at = NULL WHERE id = ${delivery.id}::uuid`;
    expect(await list('--status', 'failed')).toMatchObject([{ id: delivery.id }]);
    const retry = command('retry', '--endpoint', id, '--delivery', delivery.id);
    expect(await json(...retry)).toEqual({ id: delivery.id, status: 'waiting' });
    expect(await list('--status', 'failed')).toEqual([]);
    expect(await audited()).toContainEqual(['webhook retry', 'webhook', id, 'success']);
  });
});
