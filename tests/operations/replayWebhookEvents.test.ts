import { permissions } from '../../src/domain/access/permissions.js';
import { MAX_REPLAYED } from '../../src/domain/webhooks/deliveries.js';
import { newClient, newClinic, newPartner, newPatient, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { newEndpoint } from '../support/webhooks.js';

const harness = await openHarness();
let partner: Partner;
beforeEach(async () => {
  partner = await newPartner(harness);
});

const replay = (id: string, json: object, { token } = partner): Promise<Answer> =>
  call(harness, `POST /webhook-endpoints/${id}/replay`, { token, json });
const ping = (id: string): Promise<Answer> =>
  call(harness, `POST /webhook-endpoints/${id}/ping`, { token: partner.token });
const now = (): string => harness.clock.now.toISOString();
const deliveries = (endpointId: string) =>
  harness.domain.db.prisma.webhookDelivery.findMany({
    where: { tenantId: partner.tenantId, endpointId },
    include: { event: true },
    orderBy: { id: 'asc' },
  });
const dataOf = async (endpointId: string) => (await deliveries(endpointId)).map(({ event }) => event.data);

describe('replayWebhookEvents 202', () => {
  it('queues the events between two exclusive times, and reuses their existing deliveries', async () => {
    const { id } = await newEndpoint(harness, partner);
    const patients: string[] = [];
    const times: string[] = [];
    for (let number = 0; number < 4; number += 1) {
      harness.clock.advance(60);
      patients.push(await newPatient(harness, partner));
      times.push(now());
    }
    const [first, second, third, fourth] = patients.map((user_id) => ({ user_id }));
    expect((await replay(id, { after: times[0], before: times[3] })).body).toEqual({ deliveries: 2 });
    expect(await dataOf(id)).toEqual([second, third]);
    const before = await deliveries(id);
    const where = { tenantId: partner.tenantId };
    const failed = { status: 'failed', failures: 10, nextAttemptAt: null } as const;
    await harness.domain.db.prisma.webhookDelivery.updateMany({ where, data: failed });
    harness.clock.advance(60);
    const again = await replay(id, { after: '2026-01-01T00:00:00Z', before: null });
    expect([again.status, again.body]).toEqual([202, { deliveries: 4 }]);
    const after = await deliveries(id);
    expect(after.slice(0, 2)).toEqual(before.map((delivery) => ({ ...delivery, nextAttemptAt: harness.clock.now })));
    expect(after.slice(2).map(({ event }) => event.data)).toEqual([first, fourth]);
  });

  it('queues only the endpoint’s event types and its own pings', async () => {
    const all = await newEndpoint(harness, partner);
    const paid = await newEndpoint(harness, partner, { types: ['order.paid'] });
    await newPatient(harness, partner);
    await ping(all.id);
    await ping(paid.id);
    const time = { after: '2026-01-01T00:00:00Z' };
    expect((await replay(all.id, time)).body).toEqual({ deliveries: 2 });
    expect((await replay(paid.id, time)).body).toEqual({ deliveries: 1 });
    expect(await dataOf(all.id)).toEqual([{ user_id: expect.any(String) }, { endpointId: all.id }]);
    expect(await dataOf(paid.id)).toEqual([{ endpointId: paid.id }]);
  });

  it('queues only events that the API client of the endpoint may see', async () => {
    const clinics = [await newClinic(harness, partner)];
    const limited = await newClient(harness, partner.tenantId, permissions, clinics);
    const { id } = await newEndpoint(harness, limited);
    await newPatient(harness, partner);
    const own = await newPatient(harness, limited);
    const { body } = await replay(id, { after: '2026-01-01T00:00:00Z' }, limited);
    expect(body).toEqual({ deliveries: 1 });
    expect(await dataOf(id)).toEqual([{ user_id: own }]);
  });
});

describe('replayWebhookEvents 400', () => {
  it('refuses a period with more than 10,000 events as a whole, and accepts one with 10,000', async () => {
    const { id } = await newEndpoint(harness, partner);
    const { tenantId } = partner;
    const { db } = harness.domain;
    const write = (from: number, to: number) => db.prisma.$executeRaw`
      INSERT INTO event (id, tenant_id, position, type, data, timestamp)
      SELECT gen_random_uuid(), ${tenantId}, number, 'encounter.released', '{}', ${harness.clock.now}
      FROM generate_series(${from}::int, ${to}::int) AS number`;
    await write(1, MAX_REPLAYED);
    const time = { after: '2026-01-01T00:00:00Z' };
    expect((await replay(id, time)).body).toEqual({ deliveries: MAX_REPLAYED });
    await db.prisma.webhookDelivery.deleteMany({ where: { tenantId } });
    await write(MAX_REPLAYED + 1, MAX_REPLAYED + 1);
    expectProblem(await replay(id, time), 400, 'validation_failed', [{ pointer: '#/after', code: 'range' }]);
    expect(await db.prisma.webhookDelivery.count({ where: { tenantId } })).toBe(0);
  });
});
