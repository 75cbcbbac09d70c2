import { newEncounter, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { expectAction, reviewer } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

describe('claimEncounter 200', () => {
  it('claims the encounter for an hour, and emits encounter.review_started', async () => {
    const encounter = await newEncounter(harness, partner);
    const event = ['encounter.review_started'] as const;
    await expectAction(harness, partner, encounter, ['claim', { reviewerRef: reviewer }], event, (now) => {
      const leaseExpiresAt = new Date(now.getTime() + 3_600_000).toISOString();
      return { status: 'in_review', reviewerRef: reviewer, claimedAt: now.toISOString(), leaseExpiresAt };
    });
  });
});
