import { newEncounter, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectInvalidState } from '../support/invalidState.js';
import { expectProblem } from '../support/refusals.js';
import {
  cancelled,
  claim,
  claimedEncounter,
  completedEncounter,
  eventsOf,
  reviewer,
  recordOf,
} from '../support/reviews.js';

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

describe('releaseEncounter 404', () => {
  it("answers encounter_not_found for an unknown encounter and for another tenant's", async () => {
    const { encounter_id } = await claimedEncounter(harness, await newPartner(harness));
    for (const id of [encounter_id, 999_999_999]) expectProblem(await send(id), 404, 'encounter_not_found');
  });
});

describe('releaseEncounter 409', () => {
  it('refuses a provider that does not hold the claim', async () => {
    const claimed = await claimedEncounter(harness, partner);
    expectProblem(await send(claimed.encounter_id, { reviewerRef: 'NPI-2' }), 409, 'claimed_by_other');
    expect(await stored(claimed)).toEqual(claimed);
  });

  it('refuses a provider whose claim has expired', async () => {
    const claimed = await claimedEncounter(harness, partner);
    harness.clock.advance(3600);
    expectInvalidState(await send(claimed.encounter_id), 'pending_review');
  });

  it('refuses an unclaimed, completed or cancelled encounter', async () => {
    for (const encounter of [
      await newEncounter(harness, partner),
      await completedEncounter(harness, partner),
      await cancelled(harness, partner, await claimedEncounter(harness, partner)),
    ]) {
      expectInvalidState(await send(encounter.encounter_id), encounter.status);
      expect(await stored(encounter)).toEqual(encounter);
    }
  });
});
