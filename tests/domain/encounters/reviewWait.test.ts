import { copyEncounter } from '../../support/copies.js';
import { newClinic, newEncounter, newPartner, newPatient, type Partner } from '../../support/factories.js';
import type { Harness } from '../../support/harness.js';
import { call, type Answer } from '../../support/http.js';
import { startObservedHarness, type ObservedHarness } from '../../support/observedHarness.js';
import { deny, reviewed } from '../../support/reviews.js';
import { ownStatementsOf, rowsRead } from '../../support/statements.js';

const MINUTE = 60_000;

let service: ObservedHarness;
let harness: Harness;
let partner: Partner;
let start: Date;
beforeAll(async () => {
  service = await startObservedHarness();
  ({ harness } = service);
  start = harness.clock.now;
});
afterAll(() => service.close());
beforeEach(async () => {
  harness.clock.now = start;
  partner = await newPartner(harness);
});

type Body = Answer['body'];

const ask = ({ clinicId, patientId, treatmentIds }: Body): Promise<Answer> => {
  const query = new URLSearchParams({ clinicId, patientId, treatmentIds: treatmentIds.join() });
  return call(harness, `GET /review-options?${query.toString()}`, { token: partner.token });
};

/** The typical waits of synchronous and of asynchronous reviews in the state of the encounter. */
async function waitsOf(encounter: Body): Promise<(number | null)[]> {
  const { status, body } = await ask(encounter);
  expect(status).toBe(200);
  return body.modes.map(({ typicalWaitMinutes }: Body) => typicalWaitMinutes);
}

/** An encounter that is decided this many minutes from now on; the clock stays. */
async function decidedAfter(minutes: number, changes = {}, decide = deny): Promise<Body> {
  const encounter = await newEncounter(harness, partner, changes);
  const { now } = harness.clock;
  harness.clock.now = new Date(now.getTime() + minutes * MINUTE);
  const record = await reviewed(harness, partner, encounter, decide);
  harness.clock.now = now;
  return record;
}

it('typicalWaitMinutes is the median time from creation to decision for a US state and review type, if there are five decisions', async () => {
  for (const minutes of [10, 50, 20, 40]) await decidedAfter(minutes);
  const last = await newEncounter(harness, partner);
  harness.clock.now = new Date(start.getTime() + 30 * MINUTE);
  expect(await waitsOf(last)).toEqual([null, null]);
  await reviewed(harness, partner, last);
  harness.clock.now = new Date(start.getTime() + 60 * MINUTE);
  expect(await waitsOf(last)).toEqual([null, 30]);
  const clinicId = await newClinic(harness, partner, { places: [{ state: 'AZ', timezone: 'America/Phoenix' }] });
  expect(await waitsOf({ ...last, clinicId })).toEqual([null, null]);
  const patientId = await newPatient(harness, partner, { gfeStateId: harness.domain.newId() });
  expect(await waitsOf({ ...last, patientId })).toEqual([null, null]);
});

it.each([
  ['counts from the schedule if it is later', [60, 65, 70, 75, 80], 10],
  ['is 0 if decisions come before the schedule', [50, 50, 50, 65, 70], 0],
])('typicalWaitMinutes %s', async (_what, decidedAt, wait) => {
  const time = new Date(start.getTime() + 60 * MINUTE).toISOString();
  const schedule = { scheduledDay: time.slice(0, 10), scheduledTime: time.slice(11, 19), scheduledTimeZone: 'UTC' };
  let last: Body;
  for (const minutes of decidedAt) last = await decidedAfter(minutes, { reviewType: 'synchronous', ...schedule });
  harness.clock.now = new Date(start.getTime() + 80 * MINUTE);
  expect(await waitsOf(last)).toEqual([wait, null]);
});

it('typicalWaitMinutes counts from midnight of a scheduled day without a time', async () => {
  const tomorrow = new Date(start.getTime() + 24 * 60 * MINUTE);
  const scheduledDay = tomorrow.toISOString().slice(0, 10);
  const changes = { reviewType: 'synchronous', scheduledDay, scheduledTimeZone: 'UTC' };
  const encounters = [];
  for (let count = 0; count < 5; count += 1) encounters.push(await newEncounter(harness, partner, changes));
  harness.clock.now = new Date(`${scheduledDay}T00:12:00Z`);
  await renewToken();
  for (const encounter of encounters) await reviewed(harness, partner, encounter);
  expect(await waitsOf(encounters[0])).toEqual([12, null]);
});

/** Gets a token that is valid at the present clock. */
async function renewToken(): Promise<void> {
  const { clientId: client_id, clientSecret: client_secret } = partner;
  const json = { grant_type: 'client_credentials', client_id, client_secret };
  const { body } = await call(harness, 'POST /oauth/token', { json });
  Object.assign(partner, { token: body.access_token });
}

it('typicalWaitMinutes ignores decisions that are older than 30 days', async () => {
  let last: Body;
  for (let count = 0; count < 5; count += 1) last = await decidedAfter(7);
  const monthLater = start.getTime() + 30 * 24 * 60 * MINUTE;
  harness.clock.now = new Date(monthLater);
  await renewToken();
  expect(await waitsOf(last)).toEqual([null, 7]);
  harness.clock.now = new Date(monthLater + 7 * MINUTE);
  expect(await waitsOf(last)).toEqual([null, null]);
});

it('typicalWaitMinutes reads no more than the latest 1,000 decisions of a type', async () => {
  const encounter = await decidedAfter(0);
  const { observer } = service;
  await observer.query('SET session_replication_role = replica');
  const decided = `timestamptz '${start.toISOString()}' - copy.n * interval '1 minute'`;
  const wait = `CASE WHEN copy.n <= 1000 THEN 9 ELSE 99 END * interval '1 minute'`;
  const created = `${decided} - ${wait}`;
  await copyEncounter(observer, encounter.id, 4_000, {
    ...{ completed_at: decided, created_at: created, claimable_from: created },
  });
  await observer.query('ANALYZE');
  expect(await waitsOf(encounter)).toEqual([null, 9]);
  const [, modes] = await ownStatementsOf(() => ask(encounter));
  if (!modes) throw new Error('the waits were not read');
  expect(modes.text).toContain('percentile_cont');
  expect(await rowsRead(observer, modes)).toBeLessThanOrEqual(1_010);
});
