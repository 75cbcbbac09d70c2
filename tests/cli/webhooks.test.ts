import { eventsUpTo } from '../support/events.js';
import { newPartner, type Partner } from '../support/factories.js';
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
    expect([event?.data, others]).toEqual([{ endpointId: id, reason: 'operator' }, []]);
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
