import { newEncounter, newPartner, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { pay } from '../../support/orders.js';
import { claim, completedEncounter, eventsOf, eventTypesOf, reviewer } from '../../support/reviews.js';

// A partner that follows the feed must end with the current state. So the events of one record have the order of its
// changes, even if the changes wait for one another.

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

describe.each(['live', 'sandbox'] as const)('a %s tenant', (mode) => {
  let partner: Partner;
  beforeAll(async () => {
    partner = await newPartner(harness, mode);
  });

  it('records simultaneous payments with balances that only fall', async () => {
    const encounters = await times(8, () => completedEncounter(harness, partner));
    const amounts = ['85.00', '85.00', '85.00', '0.01'];
    await Promise.all(
      encounters.flatMap(({ order_no }) => amounts.map((amount) => pay(harness, partner, order_no, { amount }))),
    );
    for (const encounter of encounters) {
      const events = await eventsOf(harness, encounter);
      const balances = events.flatMap(([, { balance_amt }]) =>
        balance_amt === undefined ? [] : [Number(balance_amt)],
      );
      expect(balances.length).toBeGreaterThan(3);
      expect(balances).toEqual([...balances].sort((a, b) => b - a));
      const order = await call(harness, `GET /orders/${encounter.order_no}`, { token: partner.token });
      expect(balances.at(-1)).toBe(Number(order.body.balance_amt));
    }
  });

  it('records simultaneous claims, releases and cancellations in a possible order', async () => {
    const { token } = partner;
    const ask = (encounter: Answer['body'], action: string, json: object, key: string): Promise<Answer> =>
      call(harness, `POST /encounters/${encounter.encounter_id}/${action}`, {
        token,
        json,
        headers: action === 'release' ? {} : { 'Idempotency-Key': key },
      });
    const encounters = await times(8, () => newEncounter(harness, partner));
    await Promise.all(
      encounters.map(async (encounter) => {
        await claim(harness, partner, encounter);
        const rounds = times(6, async (round) => {
          await ask(encounter, 'release', { reviewerRef: reviewer }, '');
          await ask(encounter, 'claim', { reviewerRef: reviewer }, `${encounter.id} ${round}`);
        });
        await rounds;
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
