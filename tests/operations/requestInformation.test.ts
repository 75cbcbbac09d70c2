import { newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { claimedEncounter, expectAction, reviewer } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const DAY = 24 * 3_600_000;

describe('requestInformation 200', () => {
  it('ends the claim, shows the question in getEncounter, and sets expiresAt to 14 days later', async () => {
    const claimed = await claimedEncounter(harness, partner);
    const question = { reviewerRef: reviewer, message: 'Which dose?' };
    const event = ['encounter.information_requested'] as const;
    await expectAction(harness, partner, claimed, ['request-information', question], event, (now) => ({
      ...{ status: 'awaiting_information', reviewerRef: null, claimedAt: null, leaseExpiresAt: null },
      expiresAt: new Date(now.getTime() + 14 * DAY).toISOString(),
    }));
    const { information } = (await call(harness, `GET /encounters/${claimed.encounter_id}`, partner)).body;
    const requestedAt = harness.clock.now.toISOString();
    expect(information).toEqual([{ ...question, requestedAt, providedAt: null, additionalNotes: null }]);
  });
});
