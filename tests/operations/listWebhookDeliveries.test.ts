import { newPartner, newPatient } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { newWebhooks } from '../support/webhooks.js';

const harness = await openHarness();
const partner = await newPartner(harness);
for (let number = 0; number < 5; number += 1) await newPatient(harness, partner);
const { endpoint_id: endpointId } = await newWebhooks(harness, partner);

const list = (query = '', id = endpointId): Promise<Answer> =>
  call(harness, `GET /webhook-endpoints/${id}/deliveries${query}`, { token: partner.token });
const idsOf = ({ body }: Answer): string[] => body.data.map(({ id }: Answer['body']) => id);

describe('listWebhookDeliveries 200', () => {
  it('lists deliveries, the newest first, and filters them by status', async () => {
    const { tenantId } = partner;
    const { db, now } = harness.domain;
    const events = await db.prisma.event.findMany({ where: { tenantId }, orderBy: { position: 'desc' } });
    const all = await list();
    const times = { createdAt: now().toISOString(), nextAttemptAt: now().toISOString() };
    const waiting = { eventType: 'patient.created', status: 'waiting', attempts: [], ...times };
    const data = events.map((event) => ({ id: expect.any(String), eventId: event.id, ...waiting }));
    expect(all.body).toEqual({ data, next_cursor: null, has_more: false });
    const ids = idsOf(all);
    const attempts = [{ at: now().toISOString(), httpStatus: null, error: 'timeout', durationMs: 15_000 }];
    const failed = { status: 'failed', nextAttemptAt: null, attempts } as const;
    await db.prisma.webhookDelivery.updateMany({ where: { tenantId, id: { in: ids.slice(1, 3) } }, data: failed });
    const ofFailed = await list('?status=failed');
    expect(idsOf(ofFailed)).toEqual(ids.slice(1, 3));
    expect(ofFailed.body.data[0]).toMatchObject({ status: 'failed', nextAttemptAt: null, attempts });
    const next = (await list('?status=failed&limit=1')).body.next_cursor;
    expect(idsOf(await list(`?status=failed&cursor=${next}`))).toEqual(ids.slice(2, 3));
    expect(idsOf(await list('?status=waiting'))).toEqual([ids[0], ...ids.slice(3)]);
    expect(idsOf(await list('?status=delivered'))).toEqual([]);
  });
});
