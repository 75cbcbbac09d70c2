import { newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { claimedEncounter, eventsOf, recordOf, reviewer } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const send = (encounterNo: unknown, json: unknown = question, { token } = partner): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/request-information`, { token, json });
const details = async ({ encounter_id }: Answer['body']): Promise<Answer['body']> =>
  (await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body;
const DAY = 24 * 3600;

const question = { reviewerRef: reviewer, message: 'Which dose?' };

describe('requestInformation 200', () => {
  it('ends the claim, shows the question to the partner, and expires 14 days later', async () => {
    const claimed = await claimedEncounter(harness, partner);
    harness.clock.advance(60);
    const { status, body } = await send(claimed.encounter_id);
    expect(status).toBe(200);
    const now = harness.clock.now;
    const unclaimed = { status: 'awaiting_information', reviewerRef: null, claimedAt: null, leaseExpiresAt: null };
    const expiresAt = new Date(now.getTime() + 14 * DAY * 1000).toISOString();
    expect(body).toEqual({ ...claimed, ...unclaimed, expiresAt, updatedAt: now.toISOString(), version: 3 });
    const stored = await details(claimed);
    expect(recordOf(stored)).toEqual(body);
    const exchange = { ...question, requestedAt: now.toISOString(), providedAt: null, additionalNotes: null };
    expect(stored.information).toEqual([exchange]);
    const { encounter_id, gfe_no } = claimed;
    const last = (await eventsOf(harness, claimed)).at(-1);
    expect(last).toEqual(['encounter.information_requested', { encounter_id, gfe_no }]);
  });
});
