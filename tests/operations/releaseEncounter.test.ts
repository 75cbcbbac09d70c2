import { newEncounter, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { claim, expectAction, reviewer } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

describe('releaseEncounter 200', () => {
  it('returns the encounter to its state before the claim, so that another provider can claim it', async () => {
    const encounter = await newEncounter(harness, partner);
    await claim(harness, partner, encounter);
    const release = ['release', { reviewerRef: reviewer }] as const;
    await expectAction(harness, partner, encounter, release, ['encounter.released'], () => ({ version: 3 }));
    await claim(harness, partner, encounter, { reviewerRef: 'NPI-2' });
  });
});
