import { encounterBody, newPatient, newPartner, patientBody } from '../support/factories.js';
import { startHarness } from '../support/harness.js';
import { call } from '../support/http.js';
import { rowsOf } from '../support/migrations.js';
import { pay } from '../support/orders.js';
import { createTestDatabase } from '../support/postgres.js';
import { completedEncounter, reviewed, reviewer } from '../support/reviews.js';

const database = await createTestDatabase();
const harness = await startHarness({ databaseUrl: database.serviceUrl });
afterAll(async () => {
  await harness.close();
  await database.drop();
});
const partner = await newPartner(harness);
const { token } = partner;
const { encounter_id: encounterId, order_no: orderNo, patientId } = await completedEncounter(harness, partner);
const body = await encounterBody(harness, partner);

/** Statements that ran on several shards, and parts of two-phase commits, so far. */
async function spread(): Promise<{ several: number; one: number; twoPhase: number }> {
  const [counts] = await rowsOf(
    database.url,
    `SELECT query_execution_multi_shard::int AS several, query_execution_single_shard::int AS one,
      (SELECT count(*)::int FROM pg_dist_transaction) AS "twoPhase"
      FROM citus_stat_counters WHERE name = current_database()`,
  );
  return counts as Awaited<ReturnType<typeof spread>>;
}

const get = (target: string) => async () => (await call(harness, `GET ${target}`, { token })).status;
const operations: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['getPatient', get(`/clients/${patientId}`)],
  ['getEncounter', get(`/encounters/${encounterId}`)],
  ['getChart', get(`/encounters/${encounterId}/chart?reviewerRef=${reviewer}`)],
  ['getOrder', get(`/orders/${orderNo}`)],
  ['listEncounters', get('/encounters')],
  ['listReviewQueue', get('/review-queue')],
  ['listOrders', get('/orders')],
  ['listClinics', get('/clinics?search=clin')],
  ['listProducts', get(`/tenants/products?search=prod&clinicId=${body.clinicId}`)],
  ['listEvents', get('/events')],
  ['listRenewals', get('/renewals?expiring_before=2100-01-01')],
  ['listAuditEvents', get('/audit-events')],
  ['createPatient', () => newPatient(harness, partner, patientBody())],
];

it.each(operations)('%s runs each statement on one shard, without a two-phase commit', async (_name, run) => {
  const before = await spread();
  expect([200, expect.any(String)]).toContainEqual(await run());
  const after = await spread();
  expect(after).toEqual({ ...before, one: after.one });
  expect(after.one).toBeGreaterThan(before.one);
});

it('createEncounter, claimEncounter, submitReview and recordPayment each commit on one node', async () => {
  const before = await spread();
  const { status, body: encounter } = await call(harness, 'POST /encounters', { token, json: body });
  expect(status).toBe(201);
  const { order_no } = await reviewed(harness, partner, encounter);
  expect((await pay(harness, partner, order_no, { amount: '1.00' })).status).toBe(201);
  const after = await spread();
  expect(after).toEqual({ ...before, one: after.one });
  expect(after.one).toBeGreaterThan(before.one);
});
