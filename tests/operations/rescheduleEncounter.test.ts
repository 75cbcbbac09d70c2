import { newEncounter, newPartner } from '../support/factories.js';
import { openHarness } from '../support/harness.js';
import { call, type Answer } from '../support/http.js';
import { expectProblem } from '../support/refusals.js';
import { expectAction } from '../support/reviews.js';

const harness = await openHarness();
const partner = await newPartner(harness);

const send = (encounterNo: unknown, json: unknown, { token } = partner): Promise<Answer> =>
  call(harness, `POST /encounters/${String(encounterNo)}/reschedule`, { token, json });
const visit = { scheduledDay: '2027-01-05', scheduledTime: '12:00:00', scheduledTimeZone: 'America/Chicago' };
const cleared = { scheduledDay: null, scheduledTime: null, scheduledTimeZone: null, scheduledAt: null };

describe('rescheduleEncounter 200', () => {
  it('replaces or removes the schedule, and recalculates the deadline', async () => {
    const encounter = await newEncounter(harness, partner, { reviewType: 'synchronous' });
    const { encounter_id } = encounter;
    const claim = (): Promise<Answer> => {
      const json = { reviewerRef: 'NPI-1' };
      return call(harness, `POST /encounters/${encounter_id}/claim`, { token: partner.token, json });
    };
    const [scheduledAt, expiresAt] = ['2027-01-05T18:00:00.000Z', '2027-02-04T18:00:00.000Z'];
    const event = ['encounter.rescheduled'] as const;
    const change = () => ({ ...visit, scheduledAt, expiresAt });
    await expectAction(harness, partner, encounter, ['reschedule', visit], event, change);
    expectProblem(await claim(), 409, 'not_due');
    const day = { scheduledDay: '2027-01-05' };
    const { body: ofDay } = await send(encounter_id, day);
    expect(ofDay).toMatchObject({ ...cleared, ...day, expiresAt: '2027-02-04T06:00:00.000Z' });
    const { body: unscheduled } = await send(encounter_id, {});
    const updated = { updatedAt: harness.clock.now.toISOString(), version: 4 };
    const later = new Date(harness.clock.now.getTime() + 30 * 86_400_000).toISOString();
    expect(unscheduled).toEqual({ ...encounter, ...cleared, ...updated, expiresAt: later });
    expect((await claim()).status).toBe(200);
  });
});
