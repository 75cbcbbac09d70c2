import { newEncounter, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { eventsOf, reviewer, recordOf } from '../support/reviews.js';

const later = (time: Date, seconds: number): string => new Date(time.getTime() + seconds * 1000).toISOString();

const harness = await openHarness();
const partner = await newPartner(harness);

const send = (encounterNo: unknown, json: unknown = { reviewerRef: reviewer }, { token } = partner): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/claim`, { token, json });
const stored = async ({ encounter_id }: { encounter_id: number }): Promise<Answer['body']> =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body);

describe('claimEncounter 200', () => {
  it('claims the encounter for an hour, and emits encounter.review_started', async () => {
    const encounter = await newEncounter(harness, partner);
    harness.clock.advance(60);
    const { status, headers, body } = await send(encounter.encounter_id);
    const now = harness.clock.now;
    const times = { claimedAt: now.toISOString(), leaseExpiresAt: later(now, 3600), updatedAt: now.toISOString() };
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({ ...encounter, status: 'in_review', reviewerRef: reviewer, ...times, version: 2 });
    expect(await stored(encounter)).toEqual(body);
    const { encounter_id, gfe_no } = encounter;
    expect((await eventsOf(harness, encounter)).at(-1)).toEqual(['encounter.review_started', { encounter_id, gfe_no }]);
  });
});
