import { newClient, newEncounter, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { expectAction } from '../support/reviews.js';

const harness = await openHarness();
const provider = await newPartner(harness);
/** Lacks review:encounter, so that it does not count as a provider. */
const partner = await newClient(harness, provider.tenantId, ['write:encounter', 'read:encounter']);

describe('cancelEncounter 200', () => {
  it('cancels a waiting encounter with its items, and names the reason in encounter.cancelled', async () => {
    const reason = 'clinically_inappropriate';
    const encounter = await newEncounter(harness, provider);
    const event = ['encounter.cancelled', { reason }] as const;
    await expectAction(harness, partner, encounter, ['cancel', { reason }], event, (now) => ({
      ...{ status: 'cancelled', cancelledAt: now.toISOString(), cancelReason: reason },
      gfe_data: encounter.gfe_data.map((item: object) => ({ ...item, status: 'cancelled' })),
    }));
  });
});
