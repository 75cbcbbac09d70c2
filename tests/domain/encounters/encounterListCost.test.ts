import { copyEncounter } from '../../support/copies.js';
import { everyCase } from '../../support/everyCase.js';
import { newClient, newClinic, newEncounter, newPartner, newPatient, type Partner } from '../../support/factories.js';
import { call } from '../../support/http.js';
import { openObservedHarness } from '../../support/observedHarness.js';
import { ownStatementsOf, rowsScanned } from '../../support/statements.js';

const ENCOUNTERS = 20_000;

const { harness, observer } = await openObservedHarness();
/** A tenant with thousands of encounters, one a minute, of many clinics and patients. */
const large = await newPartner(harness);
const clinicId = await newClinic(harness, large);
const patientId = await newPatient(harness, large);
/** A client of that tenant that is limited to one clinic. */
const limited = await newClient(harness, large.tenantId, undefined, [clinicId]);
const { id } = await newEncounter(harness, large);
// Without triggers and foreign keys, which would only slow the inserts down.
await observer.query('SET session_replication_role = replica');
const time = `timestamptz '2026-01-01' + copy.n * interval '1 minute'`;
await copyEncounter(observer, id, ENCOUNTERS, {
  status: `(CASE WHEN copy.n % 50 = 0 THEN 'pending_review' ELSE 'denied' END)::encounter_status`,
  clinic_id: `CASE WHEN copy.n % 20 = 0 THEN '${clinicId}' ELSE md5('clinic' || copy.n % 97)::uuid END`,
  patient_id: `CASE WHEN copy.n % 500 = 0 THEN '${patientId}' ELSE md5('patient' || copy.n % 1999)::uuid END`,
  review_type: `(CASE WHEN copy.n % 500 = 0 THEN 'synchronous' ELSE 'asynchronous' END)::review_type`,
  scheduled_day: `CASE WHEN copy.n % 2 = 0 THEN to_char(${time}, 'YYYY-MM-DD') END`,
  reference: `CASE WHEN copy.n % 500 = 0 THEN 'APPT-1' ELSE 'APPT-' || copy.n END`,
  completed_at: `CASE WHEN copy.n % 50 = 0 THEN NULL ELSE ${time} END`,
  updated_at: `CASE WHEN copy.n <= 30 THEN timestamptz '2026-11-01' ELSE ${time} END`,
  ...{ claimable_from: time, created_at: time, expires_at: `timestamptz '2027-01-01'` },
});
await observer.query('ANALYZE');

const after = (minute: number): string =>
  Buffer.from(`${new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()} 999999999`).toString('base64url');

/** Expects a page of ten encounters to be one statement that reads a bounded number of rows. */
async function expectCheap(target: string, { token }: Partner, maxRows = 60): Promise<void> {
  const ask = async () => {
    const { status, body } = await call(harness, target, { token });
    expect([status, body.data.length]).toEqual([200, 10]);
  };
  await ask();
  const statements = await ownStatementsOf(ask);
  expect(statements).toHaveLength(1);
  // Eleven encounters (the last tells whether more follow), each with an item and a treatment, and some filtered rows.
  for (const statement of statements) expect(await rowsScanned(observer, statement)).toBeLessThanOrEqual(maxRows);
}

const FAR_BACK = after(ENCOUNTERS / 2);

const filters: [name: string, query: () => object, as?: (() => Partner) | undefined, maxRows?: number][] = [
  ['without a filter', () => ({})],
  ['far back in the list', () => ({ cursor: FAR_BACK })],
  ['filtered by a rare status', () => ({ status: 'pending_review' })],
  ['filtered by status, far back', () => ({ status: 'pending_review', cursor: FAR_BACK })],
  ['filtered by clinic', () => ({ clinicId })],
  ['filtered by clinic, far back', () => ({ clinicId, cursor: FAR_BACK })],
  ['filtered by clinic and status', () => ({ clinicId, status: 'pending_review' })],
  ['filtered by patient', () => ({ patientId })],
  ['filtered by reference', () => ({ reference: 'APPT-1' })],
  ['filtered by reference, far back', () => ({ reference: 'APPT-1', cursor: FAR_BACK })],
  ['filtered by several statuses', () => ({ status: 'pending_review,in_review,awaiting_information' })],
  ['filtered by several statuses, far back', () => ({ status: 'pending_review,cancelled', cursor: FAR_BACK })],
  ['filtered by a rare type of review', () => ({ reviewType: 'synchronous' })],
  ['filtered by the 640 last scheduled', () => ({ scheduled_from: '2026-01-14' }), undefined, 700],
  [
    'filtered by the 720 of an early scheduled day',
    () => ({ scheduled_from: '2026-01-02', scheduled_to: '2026-01-02' }),
    undefined,
    780,
  ],
  ['filtered by 30 old ones that changed lately', () => ({ updated_after: '2026-10-01T00:00:00Z' }), undefined, 90],
  ['filtered by patient and clinic', () => ({ patientId, clinicId })],
  [
    'filtered by patient and created_after, far back',
    () => ({ patientId, created_after: '2026-01-02T00:00:00Z', cursor: FAR_BACK }),
  ],
  ['for a client that is limited to a clinic', () => ({}), () => limited],
  ['for a limited client, filtered by status', () => ({ status: 'pending_review' }), () => limited],
];

it('listEncounters sends one statement, which reads at most 60 rows, plus those in the range of times of its filter', () =>
  everyCase(
    filters,
    ([name]) => name,
    async ([, query, as = () => large, maxRows = 60]) => {
      await expectCheap(
        `GET /encounters?${new URLSearchParams({ ...query(), limit: '10' }).toString()}`,
        as(),
        maxRows,
      );
    },
  ));

it('listReviewQueue sends one statement, which reads at most 90 rows for ten encounters', async () => {
  const head = (limit: number): string => `GET /review-queue?serviceQueue=provider_network&limit=${limit}`;
  // Every page of up to twenty reads twenty-one encounters, so that they share one prepared statement.
  await expectCheap(head(10), large, 90);
  const textsOf = async (limit: number): Promise<string[]> =>
    (await ownStatementsOf(() => call(harness, head(limit), large))).map(({ text }) => text);
  expect(await textsOf(1)).toEqual(await textsOf(20));
  expect(await textsOf(21)).toEqual(await textsOf(100));
});
