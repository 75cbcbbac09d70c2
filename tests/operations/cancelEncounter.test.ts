import { newClient, newEncounter, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { eventsOf, recordOf } from '../support/reviews.js';

const harness = await openHarness();
/** Holds every permission, so that it counts as a provider. */
const provider = await newPartner(harness);
/** Lacks review:encounter. */
const partner = await newClient(harness, provider.tenantId, ['write:encounter', 'read:encounter']);

const send = (encounterNo: unknown, { token } = partner, json: unknown = { reason: 'duplicate' }): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/cancel`, { token, json });
const stored = async ({ encounter_id }: Answer['body']): Promise<Answer['body']> =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token: provider.token })).body);

describe('cancelEncounter 200', () => {
  it('cancels an encounter in the queue and its items with the reason', async () => {
    const reason = 'clinically_inappropriate';
    const encounter = await newEncounter(harness, provider);
    harness.clock.advance(60);
    const { status, headers, body } = await send(encounter.encounter_id, partner, { reason });
    const now = harness.clock.now.toISOString();
    const ended = { status: 'cancelled', cancelledAt: now, cancelReason: reason, updatedAt: now, version: 2 };
    const gfe_data = encounter.gfe_data.map((item: object) => ({ ...item, status: 'cancelled' }));
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({ ...encounter, ...ended, gfe_data });
    expect(await stored(encounter)).toEqual(body);
    const { encounter_id, gfe_no } = encounter;
    const last = (await eventsOf(harness, encounter)).at(-1);
    expect(last).toEqual(['encounter.cancelled', { encounter_id, gfe_no, reason }]);
  });
});
