import { newClient, newEncounter, newPartner, newToken } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectInvalidState } from '../support/invalidState.js';
import { expectProblem } from '../support/refusals.js';
import {
  cancelled,
  claimedEncounter,
  completedEncounter,
  eventsOf,
  eventTypesOf,
  reviewer,
  recordOf,
} from '../support/reviews.js';

const minutes = (count: number): number => count * 60;
const later = (time: Date, seconds: number): string => new Date(time.getTime() + seconds * 1000).toISOString();

const harness = await openHarness();
let partner = await newPartner(harness);

const send = (encounterNo: unknown, json: unknown = { reviewerRef: reviewer }, { token } = partner): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/claim`, { token, json });
const stored = async ({ encounter_id }: { encounter_id: number }): Promise<Answer['body']> =>
  recordOf((await call(harness, `GET /encounters/${encounter_id}`, { token: partner.token })).body);

/** Moves the clock, with a token that is valid at that time. */
async function goTo(instant: string): Promise<void> {
  harness.clock.now = new Date(instant);
  partner = { ...partner, token: await newToken(harness, partner) };
}

describe('claimEncounter 200', () => {
  it('claims the encounter for an hour, and emits encounter.review_started', async () => {
    const encounter = await newEncounter(harness, partner);
    harness.clock.advance(60);
    const { status, headers, body } = await send(encounter.encounter_id);
    const now = harness.clock.now;
    const times = { claimedAt: now.toISOString(), leaseExpiresAt: later(now, 3600), updatedAt: now.toISOString() };
    expect([status, headers.get('Cache-Control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({ ...encounter, status: 'in_review', reviewerRef: reviewer, ...times, version: 2 });
    expect(await stored(encounter)).toEqual(body);
    const { encounter_id, gfe_no } = encounter;
    expect((await eventsOf(harness, encounter)).at(-1)).toEqual(['encounter.review_started', { encounter_id, gfe_no }]);
  });

  it.each([1, 14_400])('grants a lease of the requested %i s', async (leaseSeconds) => {
    const { leaseExpiresAt } = await claimedEncounter(harness, partner, {}, { leaseSeconds });
    expect(leaseExpiresAt).toBe(later(harness.clock.now, leaseSeconds));
  });

  it('renews the lease for its holder without a second event', async () => {
    const claimed = await claimedEncounter(harness, partner);
    harness.clock.advance(minutes(59));
    const { body } = await send(claimed.encounter_id, { reviewerRef: reviewer, leaseSeconds: 600 });
    const now = harness.clock.now;
    expect(body).toEqual({ ...claimed, leaseExpiresAt: later(now, 600), updatedAt: now.toISOString(), version: 3 });
    expect(await eventTypesOf(harness, claimed)).toEqual(['encounter.review_started']);
  });

  it('lets another provider claim the encounter from the end of the lease on', async () => {
    const claimed = await claimedEncounter(harness, partner);
    harness.clock.advance(3599);
    expectProblem(await send(claimed.encounter_id, { reviewerRef: 'NPI-2' }), 409, 'claimed_by_other');
    harness.clock.advance(1);
    const { body } = await send(claimed.encounter_id, { reviewerRef: 'NPI-2' });
    expect(body).toMatchObject({ reviewerRef: 'NPI-2', claimedAt: harness.clock.now.toISOString(), version: 4 });
    const [started, released] = ['encounter.review_started', 'encounter.released'];
    expect(await eventTypesOf(harness, claimed)).toEqual([started, released, started]);
  });

  it('serves a client that is limited to the clinic of the encounter', async () => {
    const encounter = await newEncounter(harness, partner);
    const limited = await newClient(harness, partner.tenantId, ['review:encounter'], [encounter.clinicId]);
    expect((await send(encounter.encounter_id, undefined, limited)).status).toBe(200);
  });
});

describe('claimEncounter 404', () => {
  it("answers encounter_not_found for an unknown encounter and for another tenant's", async () => {
    const { encounter_id } = await newEncounter(harness, await newPartner(harness));
    for (const id of [encounter_id, 999_999_999]) expectProblem(await send(id), 404, 'encounter_not_found');
  });
});

describe('claimEncounter 409', () => {
  it('refuses an encounter that another provider has claimed', async () => {
    const claimed = await claimedEncounter(harness, partner);
    expectProblem(await send(claimed.encounter_id, { reviewerRef: 'NPI-2' }), 409, 'claimed_by_other');
    expect(await stored(claimed)).toEqual(claimed);
  });

  it('refuses a completed or cancelled encounter with its current_status', async () => {
    for (const over of [
      await completedEncounter(harness, partner),
      await cancelled(harness, partner, await newEncounter(harness, partner)),
    ]) {
      expectInvalidState(await send(over.encounter_id), over.status);
      expect(await stored(over)).toEqual(over);
    }
  });

  it('refuses a live visit until exactly 15 minutes before its time', async () => {
    const start = harness.clock.now.toISOString();
    const time = { scheduledTime: '10:00:00', scheduledTimeZone: 'America/New_York' };
    const visit = { reviewType: 'synchronous', scheduledDay: '2026-11-21', ...time };
    const encounter = await newEncounter(harness, partner, visit);
    for (const instant of [start, '2026-11-21T14:44:59.999Z']) {
      await goTo(instant);
      const answer = await send(encounter.encounter_id);
      expectProblem(answer, 409, 'not_due');
      expect(answer.body.claimableFrom).toBe('2026-11-21T14:45:00.000Z');
    }
    expect(await stored(encounter)).toEqual(encounter);
    await goTo('2026-11-21T14:45:00.000Z');
    expect((await send(encounter.encounter_id)).status).toBe(200);
    await goTo(start);
  });

  it('refuses an encounter from its expiresAt on, even if no sweep has run', async () => {
    const start = harness.clock.now.toISOString();
    const [encounter, late] = [await newEncounter(harness, partner), await newEncounter(harness, partner)];
    // Its lease ends long before.
    const claimed = await claimedEncounter(harness, partner);
    await goTo(new Date(Date.parse(late.expiresAt) - 1).toISOString());
    expect((await send(late.encounter_id)).status).toBe(200);
    await goTo(encounter.expiresAt);
    for (const { encounter_id } of [encounter, claimed]) {
      expectInvalidState(await send(encounter_id, { reviewerRef: 'NPI-2' }), 'expired');
    }
    await goTo(start);
  });
});
