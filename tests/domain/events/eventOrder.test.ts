import { newEncounter, newPartner, type Partner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { claim, eventTypesOf, reviewer } from '../../support/reviews.js';

const harness = await openHarness();

const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

describe.each(['live', 'sandbox'] as const)('a %s tenant', (mode) => {
  let partner: Partner;
  beforeAll(async () => void (partner = await newPartner(harness, mode)));

  it('records simultaneous claims, releases and cancellations in an order that the state machine allows', async () => {
    const ask = ({ encounter_id }: Answer['body'], action: string, json: object, key = ''): Promise<Answer> => {
      const headers: Record<string, string> = key === '' ? {} : { 'Idempotency-Key': key };
      return call(harness, `POST /encounters/${encounter_id}/${action}`, { token: partner.token, json, headers });
    };
    const encounters = await times(8, () => newEncounter(harness, partner));
    await Promise.all(
      encounters.map(async (encounter) => {
        await claim(harness, partner, encounter);
        await times(6, async (round) => {
          await ask(encounter, 'release', { reviewerRef: reviewer });
          await ask(encounter, 'claim', { reviewerRef: reviewer }, `${encounter.id} ${round}`);
        });
        await ask(encounter, 'cancel', { reason: 'other' }, `${encounter.id} end`);
      }),
    );
    for (const encounter of encounters) {
      const types = (await eventTypesOf(harness, encounter)).join(' ');
      expect(types).toMatch(
        /^encounter.review_started( encounter.released encounter.review_started)*( encounter.released)? encounter.cancelled$/,
      );
    }
  });
});
