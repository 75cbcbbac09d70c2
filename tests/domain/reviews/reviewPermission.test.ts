import { importProviders } from '../../../src/domain/providers/importProviders.js';
import { newEncounter, newPartner, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { reviewed, reviewer } from '../../support/reviews.js';

const harness = await openHarness();

describe('submitReview and the provider', () => {
  const ada = { reviewerRef: reviewer, npi: '1234567893', deaNumber: null, isActive: true };
  const licensed = (number: string) => [{ state: 'TX', number, expiresOn: '2027-12-31', asynchronousAllowed: true }];
  const imported = (owner: Partner, provider: object) =>
    importProviders(harness.domain, owner.tenantId, JSON.stringify({ providers: [{ ...ada, ...provider }] }));

  it('keeps name, credential and license of the provider with the decision when the provider is imported again', async () => {
    const owner = await newPartner(harness);
    await imported(owner, { name: 'Ada Lane', credential: 'NP', licenses: licensed('4711') });
    const { encounter_id, order_no } = await reviewed(harness, owner, await newEncounter(harness, owner));
    const shown = async () => {
      const { body } = await call(harness, `GET /orders/${order_no}/dispensing`, owner);
      const row = await harness.domain.db.prisma.encounter.findFirstOrThrow({
        where: { tenantId: owner.tenantId, encounterNo: encounter_id },
      });
      const encounter = await call(harness, `GET /encounters/${encounter_id}`, owner);
      return [body.lines[0].prescriber, row.reviewedProvider, encounter.body.provider];
    };
    const before = await shown();
    const frozen = { name: 'Ada Lane', npi: '1234567893', credential: 'NP', license: 'TX 4711' };
    expect(before).toMatchObject([frozen, frozen, frozen]);
    const report = await imported(owner, { name: 'Ada Smith', credential: 'MD', licenses: licensed('42') });
    expect(report).toEqual({ report: { created: 0, updated: 1, unchanged: 0 } });
    expect(await shown()).toEqual(before);
  });
});
