import { newEncounter, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { claim, eventsOf, reviewer, recordOf } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const send = (encounterNo: unknown, json: unknown = { reviewerRef: reviewer }, { token } = partner): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/release`, { token, json });
const stored = async ({ encounter_id }: Answer['body']): Promise<Answer['body']> =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body);

describe('releaseEncounter 200', () => {
  it('returns the encounter to the queue unchanged, for any provider', async () => {
    const encounter = await newEncounter(harness, partner);
    await claim(harness, partner, encounter);
    harness.clock.advance(60);
    const { status, headers, body } = await send(encounter.encounter_id);
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({ ...encounter, updatedAt: harness.clock.now.toISOString(), version: 3 });
    expect(await stored(encounter)).toEqual(body);
    const { encounter_id, gfe_no } = encounter;
    expect((await eventsOf(harness, encounter)).at(-1)).toEqual(['encounter.released', { encounter_id, gfe_no }]);
    await claim(harness, partner, encounter, { reviewerRef: 'NPI-2' });
  });
});
