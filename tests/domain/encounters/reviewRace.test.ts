import { expireDueEncounters, lapseDueClaims } from '../../../src/domain/sweeps/encounterDeadlines.js';
import { encounterBody, newEncounter, newPartner } from '../../support/factories.js';
import { openHarness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { claim, claimedEncounter, eventTypesOf, reviewBody, reviewer, recordOf } from '../../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);
const body = await encounterBody(harness, partner);

type Encounter = Answer['body'];

const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));
const send = ({ encounter_id }: Encounter, action: string, json: unknown): Promise<Answer> =>
  call(harness, `POST /encounters/${encounter_id}/${action}`, { token: partner.token, json });
const stored = async ({ encounter_id }: Encounter): Promise<Encounter> =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body);
const ordersOf = ({ id }: Encounter): Promise<number> =>
  harness.domain.db.prisma.order.count({ where: { tenantId: partner.tenantId, encounterId: id } });
const statusesOf = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status).sort();
/** The context of a sweep that runs this many seconds later. */
const inSeconds = (seconds: number) => ({
  ...harness.domain,
  now: () => new Date(harness.clock.now.getTime() + seconds * 1000),
});

describe('twenty simultaneous requests', () => {
  it('submitReview succeeds once, answers 409 to the other nineteen, and creates one order (scenario K)', async () => {
    const claimed = await claimedEncounter(harness, partner, body);
    const review = await reviewBody(harness, partner, claimed);
    const answers = await times(20, () => send(claimed, 'review', review));
    expect(statusesOf(answers)).toEqual([200, ...Array(19).fill(409)]);
    for (const { status, body: problem } of answers) {
      if (status === 409) expect(problem).toMatchObject({ code: 'invalid_state', current_status: 'completed' });
    }
    expect(await ordersOf(claimed)).toBe(1);
    expect((await stored(claimed)).version).toBe(3);
    const expectedEvents = ['encounter.review_started', 'encounter.completed', 'order.created'];
    expect(await eventTypesOf(harness, claimed)).toEqual(expectedEvents);
  });

  it('claimEncounter after a lapsed claim releases it once and succeeds for one provider', async () => {
    const lapsed = await claim(harness, partner, await newEncounter(harness, partner, body), { leaseSeconds: 1 });
    harness.clock.advance(1);
    const answers = await times(20, (index) => send(lapsed, 'claim', { reviewerRef: `NPI-${index}` }));
    expect(statusesOf(answers)).toEqual([200, ...Array(19).fill(409)]);
    const [started, released] = ['encounter.review_started', 'encounter.released'];
    expect(await eventTypesOf(harness, lapsed)).toEqual([started, released, started]);
  });
});

it('simultaneous requests that end an encounter leave one final status, and an order only if it is completed', async () => {
  const ends = await times(12, () => claimedEncounter(harness, partner, body));
  await Promise.all(
    ends.map(async (claimed, index) => {
      const review = await reviewBody(harness, partner, claimed);
      const actions = [
        () => send(claimed, 'review', review),
        () => send(claimed, 'cancel', { reason: 'patient_no_show' }),
        () => send(claimed, 'release', { reviewerRef: reviewer }),
        () => lapseDueClaims(inSeconds(3_600), partner.tenantId),
      ];
      // Rotated, so that each action starts first in some rounds.
      const rotated = [...actions.slice(index % 4), ...actions.slice(0, index % 4)];
      const results = await Promise.all(rotated.map(async (act) => act()));
      const answers = results.filter((result) => typeof result === 'object');
      for (const { status } of answers) expect([200, 409]).toContain(status);
      const done = answers.filter(({ status }) => status === 200).map((answer) => answer.body.status);
      const after = await stored(claimed);
      const isFinal = ['completed', 'cancelled'].includes(after.status);
      expect(done.filter((status) => status !== 'pending_review')).toEqual(isFinal ? [after.status] : []);
      expect(isFinal || after.status === 'pending_review').toBe(true);
      expect(await ordersOf(claimed)).toBe(after.status === 'completed' ? 1 : 0);
      // One event for each change.
      const events = (await eventTypesOf(harness, claimed)).filter((type) => type.startsWith('encounter.'));
      expect(events).toHaveLength(after.version - 1);
      expect(new Set(events).size).toBe(events.length);
    }),
  );
});

it('the expiry of an encounter either wins or loses against a simultaneous claim or cancellation', async () => {
  const waiting = await times(12, () => newEncounter(harness, partner, body));
  const sweep = () => expireDueEncounters(inSeconds(30 * 24 * 3_600), partner.tenantId);
  const [, , ...answers] = await Promise.all([
    sweep(),
    sweep(),
    ...waiting.map((encounter, index) =>
      index % 2 ? send(encounter, 'claim', { reviewerRef: reviewer }) : send(encounter, 'cancel', { reason: 'other' }),
    ),
  ]);
  for (const [index, answer] of answers.entries()) {
    const { status } = await stored(waiting[index]);
    const successful = index % 2 ? 'in_review' : 'cancelled';
    expect([answer.status, answer.body.current_status, status]).toEqual(
      status === 'expired' ? [409, 'expired', 'expired'] : [200, undefined, successful],
    );
    expect(await eventTypesOf(harness, waiting[index])).toHaveLength(1);
  }
});
