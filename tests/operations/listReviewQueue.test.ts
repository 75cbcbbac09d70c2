import { newClient, newClinic, newEncounter, newPartner, type Partner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { cancelled, claim, claimedEncounter, completedEncounter, reviewer } from '../support/reviews.js';
import { atTime } from '../support/tokens.js';

const harness = await openHarness();

/** Each test has its own queue. */
let partner: Partner;
beforeEach(async () => {
  partner = await newPartner(harness);
});

const list = (query = '', { token } = partner): Promise<Answer> =>
  call(harness, `GET /review-queue${query}`, { token });
const numbers = async (query?: string, client?: Partner): Promise<number[]> => {
  const { body } = await list(query, client);
  return body.data.map(({ encounter_id }: { encounter_id: number }) => encounter_id);
};
const zone = { scheduledTimeZone: 'America/New_York' };
const at = (scheduledDay: string, scheduledTime: string) => ({ scheduledDay, scheduledTime, ...zone });

describe('listReviewQueue 200', () => {
  it('sorts by scheduled time, or else by creation, then by number', async () => {
    const noon = await newEncounter(harness, partner, { ...at('2026-11-20', '12:00:00'), reviewType: 'synchronous' });
    const tomorrow = await newEncounter(harness, partner, at('2026-11-21', '00:00:00'));
    const first = await newEncounter(harness, partner);
    const second = await newEncounter(harness, partner, { scheduledDay: '2026-12-24' });
    const past = await newEncounter(harness, partner, at('2026-11-19', '08:00:00'));
    harness.clock.advance(1);
    const third = await newEncounter(harness, partner);
    const { body } = await list();
    const data = [past, first, second, third, noon, tomorrow].map((encounter) => ({
      ...encounter,
      claimableFrom: encounter === noon ? '2026-11-20T16:45:00.000Z' : encounter.createdAt,
    }));
    expect(body).toEqual({ data, has_more: false });
  });

  it('lists only encounters that wait for a review', async () => {
    const waiting = await newEncounter(harness, partner);
    const claimed = await claimedEncounter(harness, partner);
    await completedEncounter(harness, partner);
    await cancelled(harness, partner, await newEncounter(harness, partner));
    await newEncounter(harness, await newPartner(harness));
    expect(await numbers()).toEqual([waiting.encounter_id]);
    const release = { token: partner.token, json: { reviewerRef: reviewer } };
    await call(harness, `POST /encounters/${claimed.encounter_id}/release`, release);
    expect(await numbers()).toEqual([waiting.encounter_id, claimed.encounter_id]);
    await claim(harness, partner, waiting);
    expect(await numbers()).toEqual([claimed.encounter_id]);
  });

  it('filters by the type of review and by clinic', async () => {
    const clinicId = await newClinic(harness, partner);
    const [here, live] = [{ clinicId }, { reviewType: 'synchronous' }];
    const both = await newEncounter(harness, partner, { ...here, ...live });
    const [chart, visit] = [await newEncounter(harness, partner, here), await newEncounter(harness, partner, live)];
    const expected = { 'reviewType=SYNCHRONOUS': [both, visit], [`clinicId=${clinicId}`]: [both, chart] };
    for (const [filter, encounters] of Object.entries(expected)) {
      expect([filter, await numbers(`?${filter}`)]).toEqual([filter, encounters.map((each) => each.encounter_id)]);
    }
    expect(await numbers(`?clinicId=${clinicId}&reviewType=asynchronous`)).toEqual([chart.encounter_id]);
  });

  it('omits an encounter once expiresAt is reached, before any sweep', async () => {
    const { encounter_id, expiresAt } = await newEncounter(harness, partner);
    const end = Date.parse(expiresAt);
    for (const [time, expected] of [
      [end - 1, [encounter_id]],
      [end, []],
    ] as const) {
      const shown = await atTime(harness, partner, new Date(time), (then) => numbers('', then));
      expect(shown).toEqual(expected);
    }
  });

  it('shows a client limited to clinics only their encounters', async () => {
    const [mine, other] = [await newEncounter(harness, partner), await newEncounter(harness, partner)];
    const limited = (clinics: string[]) => newClient(harness, partner.tenantId, ['review:encounter'], clinics);
    expect(await numbers('', await limited([mine.clinicId]))).toEqual([mine.encounter_id]);
    const all = [mine.encounter_id, other.encounter_id];
    expect(await numbers('', await limited([mine.clinicId, other.clinicId]))).toEqual(all);
    expect(await numbers('', await limited([await newClinic(harness, partner)]))).toEqual([]);
  });

  it('returns at most "limit" records and has_more', async () => {
    const made: number[] = [];
    for (let count = 0; count < 3; count += 1) made.push((await newEncounter(harness, partner)).encounter_id);
    for (const limit of [1, 2, 3]) {
      const { body } = await list(`?serviceQueue=provider_network&limit=${limit}`);
      expect(body.data.map((each: { encounter_id: number }) => each.encounter_id)).toEqual(made.slice(0, limit));
      expect(body.has_more).toBe(limit < 3);
    }
  });
});
