import { encounterBody, newClinic, newPartner, type EncounterBody, type Partner } from '../../support/factories.js';
import { startHarness, type Harness } from '../../support/harness.js';
import { call } from '../../support/http.js';
import { claim, recordOf } from '../../support/reviews.js';

let harness: Harness;
let partner: Partner;
/** A valid body; its clinic is in America/Chicago. */
let valid: EncounterBody;
beforeAll(async () => {
  harness = await startHarness();
  partner = await newPartner(harness);
  valid = await encounterBody(harness, partner);
});
afterAll(() => harness.close());

const create = (json: unknown) => call(harness, 'POST /encounters', { token: partner.token, json });
const tokyo = { scheduledTimeZone: 'Asia/Tokyo' };
const day = { scheduledDay: '2027-01-05' };
const noon = { ...day, scheduledTime: '12:00:00' };
const repeated = { scheduledDay: '2027-11-07', scheduledTime: '01:30:00', scheduledTimeZone: 'America/New_York' };
const past = { scheduledDay: '1999-12-31', scheduledTime: '23:59:59', scheduledTimeZone: 'UTC' };
const legacy = { ...noon, scheduledTimeZone: 'EST' };

describe('the schedule of createEncounter', () => {
  it.each([
    [
      'a repeated local time means the earlier instant',
      repeated,
      '2027-11-07T05:30:00.000Z',
      '2027-12-07T05:30:00.000Z',
    ],
    ['a legacy zone is kept as sent', legacy, '2027-01-05T17:00:00.000Z', '2027-02-04T17:00:00.000Z'],
    ['the clinic’s zone is the default', noon, '2027-01-05T18:00:00.000Z', '2027-02-04T18:00:00.000Z'],
    ['a past time is accepted (D-41)', past, '1999-12-31T23:59:59.000Z', '2026-12-20T16:00:00.000Z'],
    ['a day is that of the clinic’s zone', day, null, '2027-02-04T06:00:00.000Z'],
    ['a day is that of the given zone', { ...day, ...tokyo }, null, '2027-02-03T15:00:00.000Z'],
    ['today expires 30 days after creation', { scheduledDay: '2026-11-20' }, null, '2026-12-20T16:00:00.000Z'],
  ])('sets scheduledAt and expiresAt: %s', async (_rule, schedule, scheduledAt, expiresAt) => {
    const { body } = await create({ ...valid, ...schedule });
    expect(body).toMatchObject({ scheduledTime: null, scheduledTimeZone: null, ...schedule, scheduledAt, expiresAt });
    const read = await call(harness, `GET /encounters/${body.encounter_id}`, { token: partner.token });
    expect(recordOf(read.body)).toEqual(body);
  });

  it('takes the day in UTC and allows claims at once if neither schedule nor clinic has a zone', async () => {
    const clinicId = await newClinic(harness, partner, { places: [{ state: 'TX', timezone: null }] });
    const { body } = await create({ ...valid, clinicId, reviewType: 'synchronous', ...day });
    expect(body).toMatchObject({ scheduledAt: null, expiresAt: '2027-02-04T00:00:00.000Z' });
    await claim(harness, partner, body);
  });
});
